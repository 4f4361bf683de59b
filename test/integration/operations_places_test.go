// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// place is where the objects of a release are.
type place struct {
	*world

	// there is the namespace of the objects.
	there string
	// connection, if set, is the client of a cluster that the release reaches by a kubeconfig.
	connection *rest.Config
}

// layouts are the places of a release, by name. The cluster is the same one, reached by a kubeconfig:
// to the controller it is another one.
func layouts() map[string]func(*world) place {
	other := func(w *world) string {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-there"}}
		w.must(suite.client.Create(w.t.Context(), ns))
		return ns.Name
	}
	return map[string]func(*world) place{
		"own":       func(w *world) place { return place{world: w, there: w.namespace} },
		"namespace": func(w *world) place { return place{world: w, there: other(w)} },
		"cluster":   func(w *world) place { return place{world: w, there: other(w), connection: suite.config} },
	}
}

// grantThere grants permissions to a ServiceAccount in the namespace of the objects.
func (p place) grantThere(name, account string, rules ...rbacv1.PolicyRule) {
	p.t.Helper()
	meta := metav1.ObjectMeta{Namespace: p.there, Name: name}
	p.must(suite.client.Create(p.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}))
	p.must(suite.client.Create(p.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.namespace, Name: account}},
	}))
}

// installed returns a ready release at the place. Its identity may handle ConfigMaps there, Helm's
// records, and what rules permit there.
func (p place) installed(hooks string, rules ...rbacv1.PolicyRule) *helmv2.HelmRelease {
	p.t.Helper()
	p.account("tenant", "secrets")
	p.grantThere("place", "tenant", append(rules, rule("", []string{"configmaps"}, []string{"*"}))...)
	edit := func(hr *helmv2.HelmRelease) {
		hr.Spec.TargetNamespace, hr.Spec.StorageNamespace = p.there, p.namespace
		if p.there == p.namespace {
			hr.Spec.TargetNamespace, hr.Spec.StorageNamespace = "", ""
		}
	}
	edits := []func(*helmv2.HelmRelease){as("tenant"), edit}
	if p.connection != nil {
		p.secret("far", map[string][]byte{"value": kubeconfig(p.t, p.connection)}, nil)
		edits = append(edits, in("far"))
	}
	p.publish("web", "1.0.0", hooked(p.t, "1.0.0", "pre-rollback", hooks))
	edits = append(edits, func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName = "web" })
	hr := p.release("web", nil, edits...)
	p.untilReady(hr)
	return hr
}

// jobsThere returns the Jobs of an Operation in all namespaces.
func (p place) jobsThere(op *opsv1alpha1.Operation) []batchv1.Job {
	p.t.Helper()
	var list batchv1.JobList
	p.must(suite.client.List(p.t.Context(), &list, client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)}))
	return list.Items
}

// jobThere waits for the Job of an Operation that may run.
func (p place) jobThere(op *opsv1alpha1.Operation) *batchv1.Job {
	p.t.Helper()
	var found *batchv1.Job
	untilTrue(p.world, "a Job of "+op.Name+" that may run", func() bool {
		for _, job := range p.jobsThere(op) {
			if job.Spec.Suspend == nil || !*job.Spec.Suspend {
				found = &job
			}
		}
		return found != nil
	})
	return found
}

// jobRights are the permissions that an Operation needs for its Job.
func jobRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("batch", []string{"jobs"}, []string{"get", "list", "create", "patch", "delete"}),
		rule("", []string{"pods"}, []string{"list"}), rule("", []string{"pods/log"}, []string{"get"}),
		rule("", []string{"secrets", "serviceaccounts"}, []string{"get", "create", "delete"}),
		rule(rbacv1.GroupName, []string{"roles", "rolebindings"}, []string{"get", "create", "delete", "bind", "escalate"}),
	}
}

// TestOperationPlaces: an Operation runs where its release is, and nothing is left there without it.
func TestOperationPlaces(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	for name, layout := range layouts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := layout(newWorld(t))
			hr := p.installed(companions, jobRights()...)
			op := p.operate(hr, "once")
			job := p.jobThere(op)
			if job.Namespace != p.there || (len(job.OwnerReferences) == 0) != (name != "own") {
				t.Errorf("the Job is %+v", job.ObjectMeta)
			}
			pod := p.runPod(job)
			p.untilPhase(op, opsv1alpha1.PhaseRunning)
			p.endPod(job, pod, 0)
			p.untilPhase(op, opsv1alpha1.PhaseSucceeded)
			if o := op.Status.Outputs; o.LogsRef == nil || o.LogsRef.Name != pod.Name || o.LogsRef.Namespace != p.there || o.ExitCode == nil || *o.ExitCode != 0 {
				t.Errorf("outputs are %+v", o)
			}
			p.until(hr, "to be free", func(hr *helmv2.HelmRelease) bool { return hr.Annotations[opsv1alpha1.AnnotationHolder] == "" })
			untilTrue(p.world, "the TTL of the Job", func() bool {
				p.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(job), job))
				return job.Spec.TTLSecondsAfterFinished != nil
			})
			if name == "own" {
				// The garbage collector, which does not run here, deletes its Job.
				p.tidy(op)
				return
			}
			p.must(suite.client.Delete(t.Context(), op))
			p.untilOperationGone(op)
			if jobs := p.jobsThere(op); len(jobs) > 0 {
				t.Errorf("a Job is left: %+v", jobs[0].ObjectMeta)
			}

			// Deleted while it runs, with the objects that were created for it.
			p.grantThere("late", "tenant", rule("", []string{"configmaps"}, []string{"get"}))
			p.must(suite.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.there, Name: "late"}}))
			op = p.operate(hr, "needy", func(op *opsv1alpha1.Operation) { op.Spec.Parameters.HookName = "needy" })
			job = p.jobThere(op)
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.there, Name: "migrator"}}
			p.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(account), account))
			p.must(suite.client.Delete(t.Context(), op))
			p.untilOperationGone(op)
			if jobs := p.jobsThere(op); len(jobs) > 0 {
				t.Errorf("a Job is left: %+v", jobs[0].ObjectMeta)
			}
			for _, kind := range []client.ObjectList{&corev1.ServiceAccountList{}, &corev1.SecretList{}, roles(), roleBindings()} {
				p.must(suite.client.List(t.Context(), kind, client.InNamespace(p.there), client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)}))
				if n := apimeta.LenList(kind); n > 0 {
					t.Errorf("%d of %T are left", n, kind)
				}
			}
		})
	}
}

// TestOperationPlacesRights: at no place an Operation does what an upgrade of its release could not.
func TestOperationPlacesRights(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	for name, layout := range layouts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := layout(newWorld(t))
			hr := p.installed(strong, rule("batch", []string{"jobs"}, []string{"get"}))
			user := "system:serviceaccount:" + p.namespace + ":tenant"
			op := p.operate(hr, "denied")
			p.untilBlocked(op, opsv1alpha1.ReasonJobRefused, user, "cannot create resource \"jobs\"")
			if jobs := p.jobsThere(op); len(jobs) > 0 || op.Status.Placement != nil {
				t.Fatalf("Jobs are %+v, status %+v", jobs, op.Status)
			}
			p.grantThere("work", "tenant", rule("batch", []string{"jobs"}, []string{"list", "create", "patch", "delete"}),
				rule("", []string{"pods"}, []string{"list"}))
			p.endPodOf(op)
			p.untilPhase(op, opsv1alpha1.PhaseSucceeded)

			// A role with more rights than the identity of the release has.
			p.grantThere("roles", "tenant", rule("", []string{"serviceaccounts"}, []string{"get", "create", "delete"}),
				rule(rbacv1.GroupName, []string{"roles", "rolebindings"}, []string{"get", "create", "delete"}))
			other := p.operate(hr, "strong", func(op *opsv1alpha1.Operation) { op.Spec.Parameters.HookName = "strong" })
			p.untilBlocked(other, opsv1alpha1.ReasonJobRefused, "Role strong", user, "not currently held")
			err := suite.client.Get(t.Context(), client.ObjectKey{Namespace: p.there, Name: "strong"}, &corev1.ServiceAccount{})
			if !apierrors.IsNotFound(err) {
				t.Errorf("something was brought along: %v", err)
			}
		})
	}
}

// endPodOf lets the Job of an Operation run and succeed.
func (p place) endPodOf(op *opsv1alpha1.Operation) {
	p.t.Helper()
	job := p.jobThere(op)
	p.endPod(job, p.runPod(job), 0)
}

// TestOperationImpersonationDenied: the user of the kubeconfig may not impersonate the identity of
// the release any more.
func TestOperationImpersonationDenied(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	p := layouts()["cluster"](newWorld(t))
	hr := p.installed("", jobRights()...)
	weak := p.account("weak", "pods")
	token := &authenticationv1.TokenRequest{}
	p.must(suite.client.SubResource("token").Create(t.Context(), weak, token))
	secret := &corev1.Secret{}
	p.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "far"}, secret))
	config := &rest.Config{Host: suite.config.Host, BearerToken: token.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: suite.config.CAData}}
	secret.Data["value"] = kubeconfig(t, config)
	p.must(suite.client.Update(t.Context(), secret))
	op := p.operate(hr, "denied")
	p.untilBlocked(op, opsv1alpha1.ReasonAccessDenied, "impersonate")
	if jobs := p.jobsThere(op); len(jobs) > 0 {
		t.Errorf("a Job was created: %+v", jobs[0].ObjectMeta)
	}
}

// TestOperationForeignKubeconfig: a Secret of another namespace gives no connection.
func TestOperationForeignKubeconfig(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	p := layouts()["cluster"](newWorld(t))
	hr := p.installed("", jobRights()...)
	p.must(suite.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.there, Name: "theirs"}, Data: map[string][]byte{"value": kubeconfig(t, suite.config)},
	}))
	p.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Suspend = true
		hr.Spec.KubeConfig.SecretRef.Name = "theirs"
	})
	op := p.operate(hr, "foreign")
	p.untilBlocked(op, opsv1alpha1.ReasonStorageError, "theirs", "not found")
	if jobs := p.jobsThere(op); len(jobs) > 0 {
		t.Errorf("a Job was created: %+v", jobs[0].ObjectMeta)
	}
}

// TestOperationIdentityGone: the identity loses its rights and is deleted. The Operation waits
// visibly for the first, and ends with an event for the second.
func TestOperationIdentityGone(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	p := layouts()["namespace"](newWorld(t))
	hr := p.installed("", jobRights()...)
	op := p.operate(hr, "orphan")
	job := p.jobThere(op)
	p.must(suite.client.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: p.there, Name: "place"}}))
	user := "system:serviceaccount:" + p.namespace + ":tenant"
	p.untilReviewed(p.there, user, rule("batch", []string{"jobs"}, []string{"list"}), false)
	p.must(suite.client.Delete(t.Context(), op))
	p.untilBlocked(op, opsv1alpha1.ReasonAccessDenied, user)
	p.must(suite.client.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "tenant"}}))
	p.untilOperationGone(op)
	untilTrue(p.world, "the event", func() bool {
		var events corev1.EventList
		p.must(suite.client.List(context.WithoutCancel(t.Context()), &events, client.InNamespace(p.namespace)))
		for i := range events.Items {
			if e := &events.Items[i]; e.Reason == opsv1alpha1.ReasonObjectsLeft && e.InvolvedObject.Name == op.Name {
				return true
			}
		}
		return false
	})
	p.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(job), job))
}

// TestOperationClusterUnreachable: a cluster that does not answer is waited for visibly before the
// Job is created, while it runs, and when the Operation is deleted.
func TestOperationClusterUnreachable(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	operationsServed(t)
	p := layouts()["cluster"](newWorld(t))
	proxy := p.proxied(nil)
	p.connection = proxy.config
	hr := p.installed("", jobRights()...)

	resume := proxy.stop(t)
	op := p.operate(hr, "late")
	p.untilBlocked(op, opsv1alpha1.ReasonClusterUnreachable, proxy.URL)
	if jobs := p.jobsThere(op); len(jobs) > 0 {
		t.Errorf("a Job was created: %+v", jobs[0].ObjectMeta)
	}
	resume()
	job := p.jobThere(op)
	pod := p.runPod(job)
	p.untilPhase(op, opsv1alpha1.PhaseRunning)
	resume = proxy.stop(t)
	p.endPod(job, pod, 3)
	p.untilBlocked(op, opsv1alpha1.ReasonClusterUnreachable, proxy.URL)
	resume()
	p.untilPhase(op, opsv1alpha1.PhaseFailed)
	if code := op.Status.Outputs.ExitCode; code == nil || *code != 3 {
		t.Errorf("outputs are %+v", op.Status.Outputs)
	}
	resume = proxy.stop(t)
	p.must(suite.client.Delete(t.Context(), op))
	p.untilBlocked(op, opsv1alpha1.ReasonClusterUnreachable, proxy.URL)
	resume()
	p.untilOperationGone(op)
	if jobs := p.jobsThere(op); len(jobs) > 0 {
		t.Errorf("a Job is left: %+v", jobs[0].ObjectMeta)
	}
}
