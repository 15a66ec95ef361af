import numpy as np, time, proto, dic
from dic import *
from s2oct._core import refit_split
from s2oct.search.evidence import Worth
from s2oct.stopping import never
class Reg(Dic):
    """Propose directions by node fits in the regions of the best tree so far, combine exactly, again."""
    ROUNDS=3
    def __init__(self, evidence, sparsity, seed, deadline):
        ExactProto.__init__(self,evidence,sparsity,seed,deadline)
        X=evidence.X
        self.dirs=[np.eye(X.shape[1])[j] for j in self.cols]; self.vals=[self.values[j] for j in self.cols]; self.q_prices=np.full(len(self.cols),self.tau)
        self.es=ES(evidence,Sparsity(MOST,self.tau,False),seed,deadline); self.seen=set(); self.state=np.array([12345],dtype=np.uint64)
    def add(self,r):
        nz=np.flatnonzero(r)
        if len(nz)<2 or len(nz)>MOST: return False
        key=tuple(np.round(r*np.sign(r[nz[0]]),12))
        if key in self.seen: return False
        self.seen.add(key)
        v=self.e.X@r; u,inv=np.unique(np.round(v,9),return_inverse=True)
        self.A=np.ascontiguousarray(np.vstack([self.A,inv.astype(np.int32)[None]])); self.O=np.ascontiguousarray(np.vstack([self.O,np.argsort(inv,kind="stable").astype(np.int32)[None]]))
        self.vals.append(u); self.dirs.append(r); self.q_prices=np.append(self.q_prices,self.tau*dic.MIX*len(nz)); return True
    def propose(self,rows,mu):
        e=self.e; es=self.es
        if len(rows)<10: return 0
        adj=e.cost[rows].copy()
        for g in range(len(self.first)): adj+=e.size[rows][:,None]*mu[self.first[g][rows][:,None]+np.arange(self.K)]
        added=0
        table=es._table(rows,np.ones(len(rows))).with_cost(np.ascontiguousarray(adj))
        p=len(es.XT)
        for most in (2,3):
            for price in (0.0,self.tau):
                sp=Splits(np.zeros((1,p)),np.ones(1),np.zeros((1,len(rows)),bool),np.array([0,1]))
                refit_split(table,sp,Worth(min(most,MOST),price,0.0,np.zeros(len(self.low))),1,es.allowed,Effort(True,4),self.state,never)
                w=sp.omega[0]*es.steep
                if np.count_nonzero(w)>1: added+=self.add(rounded(w))
        return added
    def run(self,report=None):
        began=time.perf_counter(); N=len(self.e.X); d=self.e.topology.depth
        best=None; UB=np.inf; mu=np.zeros(len(self.low)); regions=[np.arange(N)]
        for rnd in range(self.ROUNDS):
            added=sum(self.propose(r,mu) for r in regions)
            if rnd and not added: break
            ub,lb,t,mu=self.combine()
            if ub<UB-1e-9: UB,LB,best=ub,lb,t
            elif rnd: break
            q,c,cl=best; regions=[]
            node=np.ones(N,int)
            for lev in range(d-1):
                b=node-1; qq=q[b]; node=2*node+((qq>=0)&(self.A[np.maximum(qq,0),np.arange(N)]>c[b]))
                regions+= [np.flatnonzero(node==v) for v in np.unique(node)]
        proto.STATS.append((UB,LB,rnd+1,time.perf_counter()-began,N))
        return self.tree(best)
    def combine(self):
        from s2oct._core import cheapest_near
        P=dic.P
        e=self.e; d=e.topology.depth; C=e.cost; N=len(C); nc=len(self.low); nd=nc//self.K
        pool=[]; best=None; UB=np.inf; LB=-np.inf; mu=np.zeros(nc); plus=np.zeros(nc); minus=np.zeros(nc); bestmu=mu
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
        return UB,LB,best,bestmu
