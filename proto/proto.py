import numpy as np, time
from scipy.optimize import linprog
from s2oct._core import exact_tree
from s2oct.model.tree import ObliqueTree
import s2oct.fit.strategies as st
import s2oct.model.evidence as ev

P, TAU, FLOOR = 1.0, 0.008, 0.0
IMPROVE=True
ENUM=True
STATS=[]
from s2oct.search.evidence import EvidenceSearch as ES, Effort, Splits
from s2oct._core import set_hyperplane
from s2oct.model.evidence import Sparsity
class ExactProto:
    def __init__(self, evidence, sparsity, seed, deadline):
        self.e=evidence; self.sparsity=sparsity; self.deadline=deadline
        X=evidence.X; N,p=X.shape
        self.values=[]; A=np.empty((p,N),np.int32); O=np.empty((p,N),np.int32); keep=[]
        for j in range(p):
            v,inv=np.unique(X[:,j],return_inverse=True); self.values.append(v); A[j]=inv; O[j]=np.argsort(inv,kind="stable")
            if len(v)>1: keep.append(j)
        self.cols=np.array(keep,dtype=int); self.A=np.ascontiguousarray(A[keep]); self.O=np.ascontiguousarray(O[keep])
        t=evidence.targets; self.first=np.zeros((len(t.margins),N),np.int64); self.first[:,evidence.n_labeled:]=t.first_cells
        self.low,self.high=t.low,t.high; self.K=t.n_classes
        self.tau=max(TAU*evidence.n_given, FLOOR)
    def leaves(self,q,c,d):
        N=self.A.shape[1]; node=np.ones(N,int)
        for _ in range(d):
            b=node-1; qq=q[b]; right=(qq>=0)&(self.A[np.maximum(qq,0),np.arange(N)]>c[b]); node=2*node+right
        return node-2**d
    def counts(self,k):
        out=np.zeros(len(self.low))
        for g in range(len(self.first)): out+=np.bincount(self.first[g]+k,weights=self.e.size,minlength=len(out))
        return out
    def off(self,n):
        over=np.maximum(n-self.high,0).reshape(-1,self.K).sum(1); under=np.maximum(self.low-n,0).reshape(-1,self.K).sum(1)
        return np.maximum(over,under).sum()
    def run(self,report=None):
        began=time.perf_counter()
        e=self.e; d=e.topology.depth; C=e.cost; N=len(C); nc=len(self.low); nd=nc//self.K
        pool=[]; best=None; UB=np.inf; LB=-np.inf; mu=np.zeros(nc); plus=np.zeros(nc); minus=np.zeros(nc)
        for it in range(40):
            adj=C.copy()
            for g in range(len(self.first)):
                adj+=e.size[:,None]*mu[self.first[g][:,None]+np.arange(self.K)]
            base=adj.min(1); const=base.sum()-plus@self.high+minus@self.low
            r=exact_tree(self.A,self.O,np.full(len(self.A),self.tau),np.ascontiguousarray(adj-base[:,None]),d,np.inf,lambda:False)
            if r[1]+const>LB: LB=r[1]+const; bestmu=mu.copy()
            q,c,cl=r[2],r[3],r[4]; leaf=self.leaves(q,c,d); k=cl[leaf]; n=self.counts(k)
            terms=(q>=0).sum(); cost=C[np.arange(N),k].sum()+self.tau*terms
            true=cost+P*self.off(n)
            if true<UB-1e-9: UB=true; best=(q,c,cl)
            pool.append((cost,n))
            if IMPROVE:
                v,sp=self.improve((q,c,cl))
                if v<UB-1e-9: UB=v; best=sp
                kk=self.es_classes(sp); pool.append((v-P*self.off(self.counts(kk)),self.counts(kk)))
            if UB-LB<1e-6: break
            # master LP
            nv=1+2*nc+nd; obj=np.zeros(nv); obj[0]=-1
            Aub=[];bub=[]
            for cc,nn in pool:
                row=np.zeros(nv); row[0]=1; row[1:1+nc]=-(nn-self.high); row[1+nc:1+2*nc]=-(self.low-nn); Aub.append(row); bub.append(cc)
            for cell in range(nc):
                dm=cell//self.K
                row=np.zeros(nv); row[1+cell]=1; row[1+2*nc+dm]=-P; Aub.append(row); bub.append(0)
                row=np.zeros(nv); row[1+nc+cell]=1; row[1+2*nc+dm]=P; Aub.append(row); bub.append(P)
            res=linprog(obj,A_ub=np.array(Aub),b_ub=np.array(bub),bounds=[(None,None)]+[(0,None)]*(2*nc)+[(0,1)]*nd,method="highs")
            theta=-res.fun
            if theta-LB<1e-6: break
            plus=res.x[1:1+nc]; minus=res.x[1+nc:1+2*nc]; mu=plus-minus
        if d==2 and nd==1 and UB-LB>1e-6 and ENUM:
            from s2oct._core import cheapest_near
            r=cheapest_near(self.A,self.O,np.full(len(self.A),self.tau),np.ascontiguousarray(C),e.size,self.low,self.high,bestmu,P,UB+1e-7,3e7,lambda:False)
            if len(r[2]): UB=r[0]; best=(r[2],r[3],r[4])
            if r[1]>LB: LB=min(r[1],UB)
        STATS.append((UB,LB,it+1,time.perf_counter()-began,N))
        self.best=best; return self.es.tree(best) if isinstance(best,Splits) else self.tree(best)
    def es_classes(self,sp):
        from s2oct._core import classes_of
        return classes_of(self.es.table,sp)
    def improve(self,t):
        if not hasattr(self,'es'): self.es=ES(self.e,Sparsity(1,self.tau,False),0,self.deadline)
        es=self.es; tree=self.tree(t); nb=len(tree.gamma); p,N=es.table.XT.shape
        sp=Splits(np.zeros((nb,p)),np.ones(nb),np.zeros((nb,N),bool),tree.leaf_classes.copy())
        for b in range(nb):
            j=np.flatnonzero(tree.omega[b])
            if len(j):
                j=j[0]; w=tree.omega[b,j]; d=np.zeros(p); d[j]=w; set_hyperplane(es.table,sp,b+1,d,float((tree.gamma[b]*w-es.center[j])*es.steep[j]*w))
            else:
                sp.gamma[b]=tree.gamma[b]; sp.right[b]=tree.gamma[b]<0
        worth=es._worth(P)
        for _ in range(20):
            if es._sweep(es.table,sp,worth,Effort(True,0))<=1e-9: break
        return es.cost(es.table,sp,P),sp
    def tree(self,t):
        q,c,cl=t; top=self.e.topology; d=top.depth; nb=top.n_branches
        om=np.zeros((nb,self.e.X.shape[1])); ga=np.ones(nb); lc=top.leaf_classes
        nl=2**d
        def leafclass(node):
            while node<nl: node*=2
            return cl[node-nl]
        for b in range(nb):
            node=b+1
            last=2*node>=nl
            if q[b]>=0:
                j=self.cols[q[b]]; v=self.values[j]; thr=0.5*v[c[b]]+0.5*v[c[b]+1]
                if last and cl[2*node-nl]!=lc[2*node-nl]: om[b,j]=-1; ga[b]=-thr
                else: om[b,j]=1; ga[b]=thr
            elif last:
                want=cl[2*node-nl]; ga[b]=1.0 if lc[2*node-nl]==want else -1.0
        return ObliqueTree(top,om,ga,lc.copy())
    def others(self): return iter(())
def install(p,tau,floor=0.0):
    global P,TAU,FLOOR
    P,TAU,FLOOR=float(p),float(tau),float(floor)
    st.EvidenceSearch=ExactProto
