import sys; sys.path.append("/tmp/contree"); exec(open("/tmp/t27.py").read().split("def cost_of")[0])
from pycontree import ConTree
sets=sys.argv[2:]; d=int(sys.argv[1])
for name in sets:
    t=pd.read_csv(f"/work/shared/pmlb/{name}.tsv.gz",sep="\t"); X=t.drop(columns="target").to_numpy(float); y=(t.target==t.target.max()).astype(int).to_numpy()
    A,O=prep(X); C=np.zeros((len(y),2)); C[np.arange(len(y)),1-y]=1
    b=time.process_time(); r=exact_tree(A,O,np.zeros(len(A)),C,d,np.inf,lambda:False); mine=time.process_time()-b
    m=ConTree(max_depth=d,time_limit=120); b=time.process_time(); m.fit(X,y); th=time.process_time()-b
    e=int((m.predict(X)!=y).sum())
    print(f"{name:28s} {X.shape} ours {r[0]:.0f} {mine:.4f}s contree {e} {th:.4f}s ratio {th/mine:.1f}",flush=True)
