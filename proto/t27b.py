exec(open("/tmp/t27.py").read().split("rng=np.random.default_rng(0)\nbad=0")[0])
from s2oct._core import cheapest_near
import itertools
def all_trees(A,C,S,rows,depth,price):
    # yields (cost incl price, counts tuple) for all trees, all class choices
    K=C.shape[1]
    out=[]
    for k in range(K):
        n=[0.0]*K; n[k]=S[rows].sum(); out.append((C[rows,k].sum(),tuple(n)))
    if depth==0 or len(rows)==0: return out
    for q in range(A.shape[0]):
        for c in np.unique(A[q,rows])[:-1]:
            l=rows[A[q,rows]<=c]; r=rows[A[q,rows]>c]
            for a in all_trees(A,C,S,l,depth-1,price):
                for b in all_trees(A,C,S,r,depth-1,price):
                    out.append((a[0]+b[0]+price[q],tuple(x+y for x,y in zip(a[1],b[1]))))
    return out
bad=0; rng=np.random.default_rng(1)
for t in range(150):
    N=int(rng.integers(3,9)); p=int(rng.integers(1,3)); K=int(rng.integers(2,4))
    X=rng.integers(0,5,(N,p)).astype(float); A,O=prep(X); C=rng.random((N,K)).round(2); S=rng.choice([0,1,1,2],N).astype(float)
    price=np.full(p,rng.choice([0,.1])); Pp=float(rng.choice([.3,1,4,100]))
    tgt=rng.multinomial(int(S.sum()),np.ones(K)/K).astype(float); mu=rng.uniform(-Pp/2,Pp/2,K)*rng.choice([0,.3])
    def off(n):
        n=np.array(n); return max(np.maximum(n-tgt,0).sum(),np.maximum(tgt-n,0).sum())
    best=min(c+Pp*off(n) for c,n in all_trees(A,C,S,np.arange(N),2,price))
    r=cheapest_near(A,O,price,C,S,tgt,tgt,mu,Pp,best+rng.choice([.5,3]),1e9,lambda:False)
    if abs(r[0]-best)>1e-9 or abs(r[1]-best)>1e-9: bad+=1; print("BAD",N,p,K,Pp,r[0],r[1],best)
print("bad",bad)
