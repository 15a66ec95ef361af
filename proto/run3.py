import sys,warnings,time; warnings.simplefilter("ignore"); sys.path.insert(0,"/tmp/p27")
import numpy as np, proto, dic, reg, glob, os
from s2oct import S2OCTClassifier
from s2oct.study import biased_draw, load_instance
import s2oct.fit.strategies as st
from sklearn.metrics import matthews_corrcoef as mcc
orig=st.EvidenceSearch
names=[os.path.basename(f)[:-7] for f in sorted(glob.glob("/work/shared/pmlb/*.tsv.gz"))]
most=int(sys.argv[1]); draws=[int(x) for x in sys.argv[2].split(",")]
CONF={"today":None}
CONF["dic P1.5 f2 mix1.3"]=(1.5,.004,2.,1.3)
CONF["reg P1.5 f2 mix1.3"]=(1.5,.004,2.,1.3)
CONF["reg P1.5 f2 mix1.5"]=(1.5,.004,2.,1.5)
CONF["reg P1 f2 mix1.3"]=(1.0,.004,2.,1.3)
CONF["reg P1.5 f2.5 mix1.5"]=(1.5,.004,2.5,1.5)
R={c:[] for c in CONF}
for name in names:
    try: data=load_instance(name,"/work/shared/pmlb")
    except Exception: continue
    if len(data.X)>most or data.X.shape[1]>60: continue
    for s in draws:
        dr=biased_draw(data,s); un=~dr.is_labeled; true=data.classes[data.codes][un]
        for c,par in CONF.items():
            if par is None: st.EvidenceSearch=orig
            else:
                proto.P,proto.TAU,proto.FLOOR=par[:3]; reg.P,reg.TAU,reg.FLOOR=par[:3]; dic.P,dic.TAU,dic.FLOOR=par[:3]; dic.MIX=par[3]; st.EvidenceSearch=reg.Reg if c.startswith("reg") else dic.Dic
            t=time.perf_counter()
            try: clf=S2OCTClassifier(random_state=0).fit(data.X,dr.y,totals=dr.totals)
            except Exception as e: print(name,c,"ERR",repr(e)[:150]); break
            sec=time.perf_counter()-t; pred=clf.predict(data.X[un])
            nz=(clf.tree_.omega!=0).sum(1); nz=nz[nz>0]
            R[c].append((mcc(true,pred),(pred==true).mean(),clf.certificate_.n_terms,clf.certificate_.xi/len(true),sec,(nz==1).mean() if len(nz) else 1.0))
for c in R:
    a=np.array(R[c]); print(f"{c:24s} n={len(a)} MCC {a[:,0].mean():.4f} acc {a[:,1].mean():.4f} terms {a[:,2].mean():.2f} single {a[:,5].mean():.2f} off {100*a[:,3].mean():.2f}% sec {np.median(a[:,4]):.3f}")
S=np.array(proto.STATS); gap=S[:,0]-S[:,1]
print("runs",len(S),"proved %.2f"%(gap<1e-6).mean(),"sec median %.4f mean %.4f max %.2f"%(np.median(S[:,3]),S[:,3].mean(),S[:,3].max()))
