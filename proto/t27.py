import sys; sys.path.append("/tmp/contree")
import numpy as np, time, itertools, glob, pandas as pd
from s2oct._core import exact_tree
def prep(X):
    A=np.empty((X.shape[1],len(X)),np.int32); O=np.empty_like(A)
    for j in range(X.shape[1]):
        _,inv=np.unique(X[:,j],return_inverse=True); A[j]=inv; O[j]=np.argsort(inv,kind="stable")
    return A,O
def cost_of(A,res,C):
    cost,bound,q,c,cl=res; d=int(np.log2(len(cl))); tot=0
    for i in range(A.shape[1]):
        node=1
        for _ in range(d):
            b=node-1; node=2*node+(0 if q[b]<0 or A[q[b],i]<=c[b] else 1)
        tot+=C[i,cl[node-len(cl)]]
    return tot
def brute(A,C,rows,depth,price):
    best=C[rows].sum(0).min() if len(rows) else 0.0
    if depth==0 or len(rows)==0: return best
    for q in range(A.shape[0]):
        for c in np.unique(A[q,rows])[:-1]:
            l=rows[A[q,rows]<=c]; r=rows[A[q,rows]>c]
            best=min(best,price[q]+brute(A,C,l,depth-1,price)+brute(A,C,r,depth-1,price))
    return best
rng=np.random.default_rng(0)
bad=0
for t in range(400):
    N=rng.integers(3,14 if t%3==2 else 30); p=rng.integers(1,4); K=rng.integers(2,5); d=[1,2,3][t%3] if N<14 else [1,2][t%2]
    X=rng.integers(0,rng.integers(2,12),(N,p)).astype(float); A,O=prep(X)
    C=rng.random((N,K))*(rng.random((N,K))<.7); price=rng.random(p)*rng.choice([0,.3])
    res=exact_tree(A,O,price,C,int(d),np.inf,lambda:False)
    b=brute(A,C,np.arange(N),d,price)
    terms=sum(price[q] for q in res[2] if q>=0)
    if abs(res[0]-b)>1e-9 or abs(cost_of(A,res,C)+terms-b)>1e-9 or abs(res[1]-b)>1e-9: bad+=1; print("BAD",N,p,K,d,res[0],res[1],b,cost_of(A,res,C)+terms)
print("bad",bad)
# force inexact bins: larger N vs simple exact depth2 oracle
def oracle2(A,O,C,price):
    best=C.sum(0).min(); N=A.shape[1]
    for f in range(A.shape[0]):
        for c in np.unique(A[f])[:-1]:
            v=price[f]
            for m in (A[f]<=c,A[f]>c):
                idx=np.flatnonzero(m); bb=C[idx].sum(0).min()
                for g in range(A.shape[0]):
                    o=O[g][m[O[g]]]; cum=C[o].cumsum(0); tot=cum[-1]; ch=A[g][o][1:]!=A[g][o][:-1]
                    val=(cum.min(1)+(tot-cum).min(1))[:-1][ch]
                    if len(val): bb=min(bb,val.min()+price[g])
                v+=bb
            best=min(best,v)
    return best
for s in range(12):
    rng=np.random.default_rng(s); N=400; p=3; X=rng.normal(size=(N,p)) if s%2 else np.round(rng.normal(size=(N,p)),1); A,O=prep(X)
    y=(X[:,0]+X[:,1]*(X[:,2]>0)+rng.normal(size=N)*.5>0).astype(int)
    C=np.zeros((N,2)); C[np.arange(N),1-y]=rng.random(N) if s%3 else 1
    price=np.full(p,rng.choice([0.,2.]))
    r=exact_tree(A,O,price,C,2,np.inf,lambda:False); o=oracle2(A,O,C,price)
    print(s,r[0],o, "OK" if abs(r[0]-o)<1e-8 else "BAD")
