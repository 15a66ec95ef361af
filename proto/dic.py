import numpy as np, time
import proto
from proto import *
MIX=1.5; PRICES=(0.25,1.0,4.0); MOST=3
def rounded(w, digits=1):
    j=np.flatnonzero(w); lead=j[np.argmax(np.abs(w[j]))]
    out=np.zeros_like(w)
    base=np.abs(w[j]).min()
    for i in j:
        v=w[i]/base
        e=np.floor(np.log10(abs(v))); out[i]=np.round(v/10**(e-digits+1))*10**(e-digits+1)
    return out
class Dic(ExactProto):
    def __init__(self, evidence, sparsity, seed, deadline):
        super().__init__(evidence,sparsity,seed,deadline)
        X=evidence.X; N=len(X)
        self.dirs=[np.eye(X.shape[1])[j] for j in self.cols]; prices=[self.tau]*len(self.cols)
        A=list(self.A); O=list(self.O); vals=[self.values[j] for j in self.cols]
        seen=set()
        for f in PRICES:
            s=ES(evidence,Sparsity(MOST,f*max(.002*evidence.n_given,FLOOR*.3),True),seed,deadline)
            t=s.run()
            for b in range(len(t.gamma)):
                w=t.omega[b]*X.std(0)   # in std units
                nz=np.flatnonzero(t.omega[b])
                if len(nz)<2 or len(nz)>MOST: continue
                r=rounded(t.omega[b])
                key=tuple(np.sign(r[nz[0]])*r)
                if key in seen: continue
                seen.add(key)
                v=X@r; u,inv=np.unique(np.round(v,9),return_inverse=True)
                A.append(inv.astype(np.int32)); O.append(np.argsort(inv,kind="stable").astype(np.int32)); vals.append(u); self.dirs.append(r); prices.append(self.tau*MIX*len(nz))
        self.A=np.ascontiguousarray(A); self.O=np.ascontiguousarray(O); self.vals=vals; self.q_prices=np.array(prices)
    def improve(self,t): return np.inf,None
    def run(self,report=None):
        began=time.perf_counter()
        from s2oct._core import cheapest_near
        e=self.e; d=e.topology.depth; C=e.cost; N=len(C); nc=len(self.low); nd=nc//self.K
        pool=[]; best=None; UB=np.inf; LB=-np.inf; mu=np.zeros(nc); plus=np.zeros(nc); minus=np.zeros(nc)
        for it in range(30):
            adj=C.copy()
            for g in range(len(self.first)): adj+=e.size[:,None]*mu[self.first[g][:,None]+np.arange(self.K)]
            base=adj.min(1); const=base.sum()-plus@self.high+minus@self.low
            r=exact_tree(self.A,self.O,self.q_prices,np.ascontiguousarray(adj-base[:,None]),d,np.inf,lambda:False)
            if r[1]+const>LB: LB=r[1]+const; bestmu=mu.copy()
            q,c,cl=r[2],r[3],r[4]; k=cl[self.leaves(q,c,d)]; n=self.counts(k)
            cost=C[np.arange(N),k].sum()+self.q_prices[q[q>=0]].sum(); true=cost+P*self.off(n)
            if true<UB-1e-9: UB=true; best=(q,c,cl)
            pool.append((cost,n))
            if UB-LB<1e-6: break
            nv=1+2*nc+nd; obj=np.zeros(nv); obj[0]=-1; Aub=[];bub=[]
            for cc,nn in pool:
                row=np.zeros(nv); row[0]=1; row[1:1+nc]=-(nn-self.high); row[1+nc:1+2*nc]=-(self.low-nn); Aub.append(row); bub.append(cc)
            for cell in range(nc):
                dm=cell//self.K
                row=np.zeros(nv); row[1+cell]=1; row[1+2*nc+dm]=-P; Aub.append(row); bub.append(0)
                row=np.zeros(nv); row[1+nc+cell]=1; row[1+2*nc+dm]=P; Aub.append(row); bub.append(P)
            res=linprog(obj,A_ub=np.array(Aub),b_ub=np.array(bub),bounds=[(None,None)]+[(0,None)]*(2*nc)+[(0,1)]*nd,method="highs")
            if -res.fun-LB<1e-6: break
            plus=res.x[1:1+nc]; minus=res.x[1+nc:1+2*nc]; mu=plus-minus
        if d==2 and nd==1 and UB-LB>1e-6:
            r=cheapest_near(self.A,self.O,self.q_prices,np.ascontiguousarray(C),e.size,self.low,self.high,bestmu,P,UB+1e-7,3e7,lambda:False)
            if len(r[2]): UB=r[0]; best=(r[2],r[3],r[4])
            if r[1]>LB: LB=min(r[1],UB)
        proto.STATS.append((UB,LB,it+1,time.perf_counter()-began,N))
        return self.tree(best)
    def tree(self,t):
        q,c,cl=t; top=self.e.topology; d=top.depth; nb=top.n_branches; nl=2**d
        om=np.zeros((nb,self.e.X.shape[1])); ga=np.ones(nb); lc=top.leaf_classes
        for b in range(nb):
            node=b+1; last=2*node>=nl
            if q[b]>=0:
                v=self.vals[q[b]]; thr=0.5*v[c[b]]+0.5*v[c[b]+1]; w=self.dirs[q[b]]
                s=-1 if last and cl[2*node-nl]!=lc[2*node-nl] else 1
                om[b]=s*w; ga[b]=s*thr
            elif last: ga[b]=1.0 if lc[2*node-nl]==cl[2*node-nl] else -1.0
        return ObliqueTree(top,om,ga,lc.copy())
