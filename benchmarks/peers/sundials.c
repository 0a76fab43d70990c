/* SUNDIALS in C: CVODE (Adams) on the underlying ODE, without and with CVodeSetProjFn (needs BDF in CVODE), and IDA on GGL.
   build: gcc -O3 -march=native a_sundials.c -o build/a_sundials -lsundials_cvode -lsundials_ida -lsundials_nvecserial -lsundials_sunmatrixdense -lsundials_sunlinsoldense -lsundials_sunnonlinsolfixedpoint -lm */
#define main limit_main
#include "../limit_seven_body.c"
#undef main
#include <cvode/cvode.h>
#include <cvode/cvode_proj.h>
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
static const double GP=13.7503716373294544;
static long nres;
static int f_and(realtype t,N_Vector y,N_Vector yd,void*u_){rhs_dense(N_VGetArrayPointer(y),N_VGetArrayPointer(yd));return 0;}
static int f_pen(realtype t,N_Vector yy,N_Vector yd,void*u_){double*y=N_VGetArrayPointer(yy),*o=N_VGetArrayPointer(yd);nf++;double lam=(y[2]*y[2]+y[3]*y[3]-GP*y[1])/(y[0]*y[0]+y[1]*y[1]);o[0]=y[2];o[1]=y[3];o[2]=-y[0]*lam;o[3]=-GP-y[1]*lam;return 0;}
static int p_pen(realtype t,N_Vector yc,N_Vector corr,realtype eps,N_Vector err,void*u_){double*y=N_VGetArrayPointer(yc),*k=N_VGetArrayPointer(corr);
  double r=sqrt(y[0]*y[0]+y[1]*y[1]),x=y[0]/r,z=y[1]/r,vr=x*y[2]+z*y[3];k[0]=x-y[0];k[1]=z-y[1];k[2]=-vr*x;k[3]=-vr*z;
  if(err){double*E=N_VGetArrayPointer(err);double a=E[0]*x+E[1]*z,b=E[2]*x+E[3]*z;E[0]-=a*x;E[1]-=a*z;E[2]-=b*x;E[3]-=b*z;}return 0;}
static int p_and(realtype t,N_Vector yc,N_Vector corr,realtype eps,N_Vector err,void*u_){double*y=N_VGetArrayPointer(yc),*k=N_VGetArrayPointer(corr);double z[14];memcpy(z,y,sizeof z);project(z);for(int i=0;i<14;i++)k[i]=z[i]-y[i];
  if(err){double*E=N_VGetArrayPointer(err);for(int h=0;h<14;h+=7){T o;terms(z,z+7,&o);double K[13][13],r[13]={0};fillK(&o,K);for(int i=0;i<6;i++){double s=0;for(int j=0;j<7;j++)s+=K[7+i][j]*E[h+j];r[7+i]=-s;}gauss(13,K,r);for(int i=0;i<7;i++)E[h+i]+=r[i];}}
  return 0;}
static int r_pen(realtype t,N_Vector a,N_Vector b,N_Vector c_,void*u_){double*y=N_VGetArrayPointer(a),*yp=N_VGetArrayPointer(b),*r=N_VGetArrayPointer(c_);nres++;
 r[0]=yp[0]-y[2]+2*y[0]*y[5];r[1]=yp[1]-y[3]+2*y[1]*y[5];r[2]=yp[2]+y[0]*y[4];r[3]=yp[3]+GP+y[1]*y[4];r[4]=y[0]*y[0]+y[1]*y[1]-1;r[5]=2*(y[0]*y[2]+y[1]*y[3]);return 0;}
static int r_and(realtype t,N_Vector a,N_Vector b,N_Vector c_,void*u_){double*y=N_VGetArrayPointer(a),*yp=N_VGetArrayPointer(b),*r=N_VGetArrayPointer(c_);nres++;T o;terms(y,y+7,&o);double K[13][13];fillK(&o,K);
 for(int i=0;i<7;i++){double s=yp[i]-y[7+i],w=-o.f[i];for(int j=0;j<6;j++){s+=K[7+j][i]*y[20+j];w+=K[7+j][i]*y[14+j];}for(int j=0;j<7;j++)w+=K[i][j]*yp[7+j];r[i]=s;r[7+i]=w;}
 for(int j=0;j<6;j++){r[14+j]=o.g[j];double s=0;for(int i=0;i<7;i++)s+=K[7+j][i]*y[7+i];r[20+j]=s;}return 0;}
static void drift(int prob,double*y,double*g,double*gv){if(!prob){*g=fmax(*g,fabs(y[0]*y[0]+y[1]*y[1]-1));*gv=fmax(*gv,fabs(2*(y[0]*y[2]+y[1]*y[3])));}
 else{T o;terms(y,y+7,&o);double K[13][13];fillK(&o,K);for(int i=0;i<6;i++){*g=fmax(*g,fabs(o.g[i]));double s=0;for(int j=0;j<7;j++)s+=K[7+i][j]*y[7+j];*gv=fmax(*gv,fabs(s));}}}
static double errq(int prob,double*y){double e_=0;if(!prob){double r[4]={1,0,0,0};for(int i=0;i<4;i++)e_=fmax(e_,fabs(y[i]-r[i]));}else for(int i=0;i<7;i++)e_=fmax(e_,fabs(y[i]-QREF[i])/fmax(1,fabs(QREF[i])));return e_;}
static SUNContext cx;
static void one(int prob,int mode,double tol,int meas){ /* mode 0 Adams, 1 BDF, 2 BDF+proj, 3 IDA GGL */
 int n=prob?14:4;double Tend=prob?.03:100.;double tm[9];double g=0,gv=0,er=0;long ns=0,nfe=0;int fl=0;
 for(int rep=0;rep<(meas?7:1);rep++){double t0=now();realtype t=0;nf=0;nres=0;
  if(mode<3){N_Vector y=N_VNew_Serial(n,cx);double*p=N_VGetArrayPointer(y);if(prob)y0set(p);else{p[0]=1;p[1]=p[2]=p[3]=0;}
   void*m=CVodeCreate(mode?CV_BDF:CV_ADAMS,cx);CVodeInit(m,prob?f_and:f_pen,0,y);CVodeSStolerances(m,tol,tol);CVodeSetMaxNumSteps(m,1000000);SUNMatrix A=0;SUNLinearSolver L=0;SUNNonlinearSolver N=0;
   if(mode){A=SUNDenseMatrix(n,n,cx);L=SUNLinSol_Dense(y,A,cx);CVodeSetLinearSolver(m,L,A);}else{N=SUNNonlinSol_FixedPoint(y,0,cx);CVodeSetNonlinearSolver(m,N);}
   if(mode==2){fl=CVodeSetProjFn(m,prob?p_and:p_pen);CVodeSetProjFrequency(m,1);}
   CVodeSetStopTime(m,Tend);
   while(t<Tend*(1-1e-14)){fl=CVode(m,Tend,y,&t,meas?CV_NORMAL:CV_ONE_STEP);if(fl<0)break;if(!meas)drift(prob,p,&g,&gv);}
   CVodeGetNumSteps(m,&ns);er=errq(prob,p);if(meas){g=gv=0;drift(prob,p,&g,&gv);}nfe=nf;CVodeFree(&m);N_VDestroy(y);if(L)SUNLinSolFree(L);if(A)SUNMatDestroy(A);if(N)SUNNonlinSolFree(N);}
  else{int N_=prob?26:6;N_Vector y=N_VNew_Serial(N_,cx),yp=N_VClone(y),id=N_VClone(y),av=N_VClone(y);double*p=N_VGetArrayPointer(y),*q=N_VGetArrayPointer(yp),*I=N_VGetArrayPointer(id),*av_=N_VGetArrayPointer(av);
   for(int i=0;i<N_;i++){p[i]=q[i]=0;I[i]=i<n;av_[i]=i<n?tol:1e10;}
   if(prob){y0set(p);double dy[14];rhs_dense(p,dy);for(int i=0;i<14;i++)q[i]=dy[i];p[14]=98.5668703962410896;p[15]=-6.12268834425566266;}else{p[0]=1;q[3]=-GP;}
   void*m=IDACreate(cx);IDAInit(m,prob?r_and:r_pen,0,y,yp);IDASVtolerances(m,tol,av);IDASetId(m,id);IDASetSuppressAlg(m,1);IDASetMaxNumSteps(m,1000000);SUNMatrix A=SUNDenseMatrix(N_,N_,cx);SUNLinearSolver L=SUNLinSol_Dense(y,A,cx);IDASetLinearSolver(m,L,A);IDASetStopTime(m,Tend);
   while(t<Tend*(1-1e-14)){fl=IDASolve(m,Tend,&t,y,yp,meas?IDA_NORMAL:IDA_ONE_STEP);if(fl<0)break;if(!meas)drift(prob,p,&g,&gv);}
   IDAGetNumSteps(m,&ns);nfe=nres;er=errq(prob,p);IDAFree(&m);SUNLinSolFree(L);SUNMatDestroy(A);N_VDestroy(y);N_VDestroy(yp);N_VDestroy(id);N_VDestroy(av);}
  tm[rep]=now()-t0;}
 static double G_,GV_; if(!meas){G_=g;GV_=gv;return;}
 qsort(tm,7,8,cmp);const char*nm[]={"CVODE Adams ODE (C callback)","CVODE BDF ODE (C callback)","CVODE BDF + SetProjFn (C callback)","IDA GGL (C callback)"};
 if(fl<0)printf("ROW {\"peer\": \"SUNDIALS C\", \"variant\": \"%s\", \"prob\": \"%s\", \"tol\": %g, \"err\": null, \"verr\": null, \"g\": null, \"gv\": null, \"steps\": null, \"nfev\": null, \"ms\": null, \"reps\": 0, \"first_ms\": null, \"note\": \"FAILED: flag %d\"}\n",nm[mode],prob?"P2":"P1",tol,fl);
 else printf("ROW {\"peer\": \"SUNDIALS C\", \"variant\": \"%s\", \"prob\": \"%s\", \"tol\": %g, \"err\": %.4g, \"verr\": null, \"g\": %.3g, \"gv\": %.3g, \"steps\": %ld, \"nfev\": %ld, \"ms\": %.4f, \"reps\": 7, \"first_ms\": null, \"note\": \"nfev incl. difference Jacobians\"}\n",nm[mode],prob?"P2":"P1",tol,er,G_,GV_,ns,nfe,tm[3]*1e3);
 fflush(stdout);}
int main(){SUNContext_Create(NULL,&cx);double tols[]={1e-4,1e-7,1e-10};for(int prob=0;prob<2;prob++)for(int mode=0;mode<4;mode++)for(int k=0;k<3;k++){one(prob,mode,tols[k],0);one(prob,mode,tols[k],1);}}
