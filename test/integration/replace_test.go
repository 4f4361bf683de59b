// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
)

// databaseChart returns a chart with a ConfigMap, a StatefulSet whose template of claims has the size in
// values, a Job and, after them in the order, an Ingress.
func databaseChart(t *testing.T) []byte {
	t.Helper()
	return pack(t, "app", "1.0.0", map[string]string{
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {size: {{ .Values.size }}}\n",
		"templates/db.yaml": `apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ .Release.Name }}
  annotations: {{ .Values.annotations | toJson }}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: {{ .Values.whenDeleted }}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: "example.com/none:{{ .Values.size }}"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: {{ .Values.size }}}}}
`,
		"templates/job.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: {{ .Release.Name }}}\n" +
			"spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: 'example.com/none:{{ .Values.job }}'}]}}}\n",
		"templates/ingress.yaml": "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: {{ .Release.Name }}, annotations: {size: {{ .Values.size }}}}\n" +
			"spec: {defaultBackend: {service: {name: db, port: {number: 80}}}}\n",
		"values.yaml": "size: 1Gi\njob: one\nwhenDeleted: Retain\nannotations: {}\n",
	})
}

// unawaited returns options of a release whose Pods never run.
func unawaited(serverSide bool) helmv2.HelmReleaseSpec {
	mode := helmv2.ServerSideApplyMode(helmv2.ServerSideApplyEnabled)
	if !serverSide {
		mode = helmv2.ServerSideApplyDisabled
	}
	return helmv2.HelmReleaseSpec{
		Install: &helmv2.Install{DisableWait: true, ServerSideApply: &serverSide}, Upgrade: &helmv2.Upgrade{DisableWait: true, ServerSideApply: mode},
		Rollback: &helmv2.Rollback{DisableWait: true, ServerSideApply: mode},
	}
}

// database returns the StatefulSet of the release.
func (b *bench) database() *appsv1.StatefulSet {
	b.t.Helper()
	sts := &appsv1.StatefulSet{}
	b.must(suite.client.Get(b.t.Context(), client.ObjectKey{Namespace: b.namespace, Name: b.name}, sts))
	return sts
}

// replacing computes the plan of an upgrade, and returns it with the action that carries it out and replaces
// objects of the kinds.
func (b *bench) replacing(archive []byte, vals map[string]any, spec helmv2.HelmReleaseSpec, kinds ...string) (plan.Plan, release.Upgrade) {
	b.t.Helper()
	p, err := b.runner.Plan(b.t.Context(), b.conn, b.job(upgrade, archive, vals, spec), helm.PlanRequest{Action: v1alpha1.PlanUpgrade, Inputs: "sha256:inputs"})
	b.must(err)
	a := upgrade
	a.Plan = release.PlanRef{Digest: p.Status.Digest, ApprovedBy: "jane"}
	var names []string
	for _, kind := range kinds {
		names = append(names, kind+"/"+b.namespace+"/"+b.name)
	}
	a.Plan.Replace = strings.Join(names, ", ")
	return p, a
}

// claimed creates the claim that a StatefulSet controller would create, and returns it.
func (b *bench) claimed() *corev1.PersistentVolumeClaim {
	b.t.Helper()
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "data-" + b.name + "-0"}}
	pvc.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	pvc.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	b.must(suite.client.Create(b.t.Context(), pvc))
	return pvc
}

// expectDatabase checks the image and the size of the claims of the StatefulSet, and whether it is the one
// with a UID.
func (b *bench) expectDatabase(size string, uid types.UID, same bool) {
	b.t.Helper()
	sts := b.database()
	claims := sts.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage()
	if sts.Spec.Template.Spec.Containers[0].Image != "example.com/none:"+size || claims.String() != size || (sts.UID == uid) != same {
		b.t.Errorf("%s: the StatefulSet has image %s, claims of %s, and UID %s after %s", b.name, sts.Spec.Template.Spec.Containers[0].Image, claims, sts.UID, uid)
	}
}

// newDatabase returns a bench with a chart of a StatefulSet, and the fields of a release that waits for none of
// its Pods.
func newDatabase(t *testing.T, serverSide bool) (*bench, []byte, helmv2.HelmReleaseSpec) {
	t.Helper()
	b := newBench(t)
	b.name = "app"
	return b, databaseChart(t), unawaited(serverSide)
}

// TestReplacement: the API server refuses to change templates of claims. An approval that names the
// StatefulSet has it deleted and created anew, and no other object: its claim stays, and the action makes
// one revision. Of two refused objects, both must be named.
func TestReplacement(t *testing.T) {
	t.Parallel()
	for name, serverSide := range map[string]bool{"server": true, "client": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, archive, spec := newDatabase(t, serverSide)
			b.mustRun(install, archive, nil, spec)
			pvc, was := b.claimed(), b.database()
			bigger := values("size", "2Gi")
			if out := b.run(upgrade, archive, bigger, spec); out.Err == nil || len(b.stored("app")) != 1 {
				t.Fatalf("the upgrade without a replacement returned %v, with %d records", out.Err, len(b.stored("app")))
			}
			p, a := b.replacing(archive, bigger, spec, "StatefulSet.apps")
			change := changeOf(&v1alpha1.ReleasePlan{Status: p.Status}, "StatefulSet", "app")
			if change.Change != v1alpha1.ChangeRefused || change.Replacement == nil || change.Replacement.UID != string(was.UID) || change.Replacement.Refused != "" {
				t.Errorf("the change is %+v, replacement %+v", change, change.Replacement)
			}
			if d := p.Status.Dangers; len(d) != 1 || d[0].Class != v1alpha1.Outage || !strings.Contains(d[0].Reason, "approve --replace") {
				t.Errorf("dangers %+v", d)
			}
			unnamed := a
			unnamed.Plan.Replace = ""
			if out := b.run(unnamed, archive, bigger, spec); out.Err == nil || len(b.stored("app")) != 1 {
				t.Errorf("an approval without names returned %v", out.Err)
			}
			b.expectDatabase("1Gi", was.UID, true)
			cm, ingress := b.configMap("app").UID, "/ingresses/app"
			b.mustRun(a, archive, bigger, spec)
			b.expectDatabase("2Gi", was.UID, false)
			if n := b.asked("DELETE", "/apps/v1/"); n != 1 || b.asked("DELETE", ingress)+b.asked("DELETE", "/configmaps/") != 0 || b.configMap("app").UID != cm {
				t.Errorf("requests %v", b.requests)
			}
			if b.firstOf("/configmaps/app") > b.firstOf("DELETE /apis/apps/v1/") || b.firstOf("DELETE /apis/apps/v1/") > b.firstOf(ingress) {
				t.Errorf("the replacement has not its place in the order: %v", b.requests)
			}
			b.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(pvc), pvc))
			if !pvc.DeletionTimestamp.IsZero() || len(b.stored("app")) != 2 {
				t.Errorf("the claim is %+v; %d records", pvc.ObjectMeta, len(b.stored("app")))
			}

			both := values("size", "3Gi", "job", "two")
			_, one := b.replacing(archive, both, spec, "StatefulSet.apps")
			was = b.database()
			if out := b.run(one, archive, both, spec); out.Err == nil || !strings.Contains(out.Err.Error(), "Job/") {
				t.Errorf("a plan with another refused object returned %v", out.Err)
			}
			b.expectDatabase("2Gi", was.UID, true)
			_, two := b.replacing(archive, both, spec, "StatefulSet.apps", "Job.batch")
			b.mustRun(two, archive, both, spec)
			b.expectDatabase("3Gi", was.UID, false)
			job := &batchv1.Job{}
			b.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "app"}, job))
			if image := job.Spec.Template.Spec.Containers[0].Image; image != "example.com/none:two" {
				t.Errorf("the Job has image %s", image)
			}
		})
	}
}

// firstOf returns the place of the first request, other than a read or a dry run, that contains a text.
func (b *bench) firstOf(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, r := range b.requests {
		if strings.Contains(r, text) && !strings.HasPrefix(r, "GET") && !strings.Contains(r, "dryRun") {
			return i
		}
	}
	return -1
}

// TestUnreplaceable: objects that are to be kept, or have data, are not replaced, and neither are changes
// that the API server would not create either. Claims that go with a StatefulSet are a loss of data.
func TestUnreplaceable(t *testing.T) {
	t.Parallel()
	b, archive, spec := newDatabase(t, true)
	kept := values("annotations", values("helm.sh/resource-policy", "keep"))
	b.mustRun(install, archive, kept, spec)
	kept["size"] = "2Gi"
	p, a := b.replacing(archive, kept, spec, "StatefulSet.apps")
	if c := changeOf(&v1alpha1.ReleasePlan{Status: p.Status}, "StatefulSet", "app"); c.Replacement == nil || !strings.Contains(c.Replacement.Refused, "helm.sh/resource-policy asks to keep it") {
		t.Errorf("the replacement is %+v", c.Replacement)
	}
	was := b.database()
	if out := b.run(a, archive, kept, spec); !errors.Is(out.Err, release.ErrPlanVoid) {
		t.Errorf("the replacement of an object that is kept returned %v", out.Err)
	}
	b.expectDatabase("1Gi", was.UID, true)
	b.mustRun(upgrade, archive, values("whenDeleted", "Delete"), spec)
	p, _ = b.replacing(archive, values("whenDeleted", "Delete", "size", "2Gi"), spec)
	if d := p.Status.Dangers; len(d) != 1 || d[0].Class != v1alpha1.DataLoss || !strings.Contains(d[0].Reason, "its claims are deleted with it") {
		t.Errorf("dangers %+v", d)
	}
	p, _ = b.replacing(archive, values("whenDeleted", "Never"), spec)
	if c := changeOf(&v1alpha1.ReleasePlan{Status: p.Status}, "StatefulSet", "app"); c.Change != v1alpha1.ChangeRefused || c.Replacement != nil {
		t.Errorf("the change is %+v", c)
	}
}

// meddling is a transport that calls before once, ahead of the first write of a path, and refuses the
// writes of another path.
type meddling struct {
	next http.RoundTripper

	mu     sync.Mutex
	path   string
	before func()
	refuse string
}

func (m *meddling) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet || req.URL.Query().Get("dryRun") != "" {
		return m.next.RoundTrip(req)
	}
	m.mu.Lock()
	before := m.before
	if before != nil && strings.HasSuffix(req.URL.Path, m.path) {
		m.before = nil
	} else {
		before = nil
	}
	refuse := m.refuse != "" && req.Method != http.MethodDelete && strings.Contains(req.URL.Path, m.refuse)
	m.mu.Unlock()
	if before != nil {
		before()
	}
	if refuse {
		return statusAnswer(req, http.StatusForbidden, string(metav1.StatusReasonForbidden)), nil
	}
	return m.next.RoundTrip(req)
}

// meddled returns a bench whose requests pass through m.
func (b *bench) meddled(m *meddling) *bench {
	b.t.Helper()
	config := rest.CopyConfig(suite.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { m.next = next; return m })
	conn, err := cluster.Connect(config)
	b.must(err)
	return &bench{world: b.world, conn: conn, runner: b.runner, name: b.name}
}

// TestReplacementOfAnother: an object of the same name that is not the one which the plan has compared is
// not deleted, whether it was created before or during the action.
func TestReplacementOfAnother(t *testing.T) {
	t.Parallel()
	b, archive, spec := newDatabase(t, true)
	b.mustRun(install, archive, nil, spec)
	bigger := values("size", "2Gi")
	another := func() types.UID {
		was := b.database()
		b.must(suite.client.Delete(t.Context(), was))
		next := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: was.Namespace, Name: was.Name, Labels: was.Labels, Annotations: was.Annotations}, Spec: was.Spec}
		b.must(suite.client.Create(t.Context(), next))
		return next.UID
	}
	_, a := b.replacing(archive, bigger, spec, "StatefulSet.apps")
	uid := another()
	if out := b.run(a, archive, bigger, spec); !errors.Is(out.Err, release.ErrPlanVoid) {
		t.Errorf("with another object, the action returned %v", out.Err)
	}
	b.expectDatabase("1Gi", uid, true)
	for _, path := range []string{"/configmaps/app", "/statefulsets/app"} {
		m := &meddling{path: path}
		_, a = b.replacing(archive, bigger, spec, "StatefulSet.apps")
		m.before = func() { uid = another() }
		if out := b.meddled(m).run(a, archive, bigger, spec); out.Err == nil || errors.Is(out.Err, release.ErrPlanVoid) {
			t.Errorf("with another object before the write of %s, the action returned %v", path, out.Err)
		}
		b.expectDatabase("1Gi", uid, true)
	}
}

// TestFailedReplacement: if the object cannot be created after it was deleted, or another one before it in
// the order cannot be applied, the upgrade fails as any other, and a rollback restores the old object.
func TestFailedReplacement(t *testing.T) {
	t.Parallel()
	for name, serverSide := range map[string]bool{"server": true, "client": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, archive, spec := newDatabase(t, serverSide)
			b.mustRun(install, archive, nil, spec)
			bigger := values("size", "2Gi")
			was := b.database()
			_, a := b.replacing(archive, bigger, spec, "StatefulSet.apps")
			if out := b.meddled(&meddling{refuse: "/configmaps"}).run(a, archive, bigger, spec); out.Err == nil {
				t.Fatal("the upgrade has not failed")
			}
			b.expectDatabase("1Gi", was.UID, true)
			b.mustRun(release.Rollback{Timeout: actionTimeout, Version: 1}, archive, nil, spec)
			_, a = b.replacing(archive, bigger, spec, "StatefulSet.apps")
			if out := b.meddled(&meddling{refuse: "/statefulsets"}).run(a, archive, bigger, spec); out.Err == nil {
				t.Fatal("the upgrade has not failed")
			}
			if err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(was), &appsv1.StatefulSet{}); !apierrors.IsNotFound(err) {
				t.Errorf("the StatefulSet is there: %v", err)
			}
			b.mustRun(release.Rollback{Timeout: actionTimeout, Version: 1}, archive, nil, spec)
			b.expectDatabase("1Gi", was.UID, false)
		})
	}
}

// TestProcessDiesReplacing: a process ends at a request of an upgrade that replaces an object, before or
// after the API server has carried it out. The next process resumes the upgrade, and the object is deleted
// once and created.
func TestProcessDiesReplacing(t *testing.T) {
	t.Parallel()
	for name, serverSide := range map[string]bool{"server": true, "client": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			archive, spec := databaseChart(t), unawaited(serverSide)
			log := b.dieReplacing(archive, spec, 0, false)
			first := 0
			for first < len(log) && !strings.HasPrefix(log[first], "DELETE ") {
				first++
			}
			if first == len(log) {
				t.Fatalf("the upgrade has deleted nothing: %v", log)
			}
			for i := first - 2; i < min(first+4, len(log)); i++ {
				for _, carriedOut := range []bool{false, true} {
					b.dieReplacing(archive, spec, i+1, carriedOut)
				}
			}
		})
	}
}

// dieReplacing upgrades a release of its own, and ends the process at the request of a number. It returns the
// requests.
func (b *bench) dieReplacing(archive []byte, spec helmv2.HelmReleaseSpec, at int, carriedOut bool) []string {
	b.t.Helper()
	d := &dying{hooks: map[string]int{}}
	config := rest.CopyConfig(suite.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { d.next = next; return d })
	conn, err := cluster.Connect(config)
	b.must(err)
	one := &bench{world: b.world, conn: conn, runner: b.runner, name: fmt.Sprintf("r-%d-%t", at, carriedOut)}
	one.mustRun(install, archive, nil, spec)
	was, bigger := one.database(), values("size", "2Gi")
	_, a := one.replacing(archive, bigger, spec, "StatefulSet.apps")
	ctx, cancel := context.WithCancelCause(b.t.Context())
	d.begin(at, carriedOut, func() { cancel(release.ErrShutdown) })
	out := one.runUntil(ctx, a, archive, bigger, spec)
	ended := ctx.Err() == nil
	cancel(nil)
	d.mu.Lock()
	log := d.log
	d.at = 0
	d.mu.Unlock()
	what := fmt.Sprintf("request %d, carried out: %t", at, carriedOut)
	if !ended {
		next, err := one.decide(a, 2)
		b.must(err)
		if resumed, is := next.(release.Upgrade); is {
			// Only the record has the names.
			resumed.Plan = release.PlanRef{}
			out = one.run(resumed, archive, bigger, spec)
		}
	}
	if out.Err != nil && !errors.Is(out.Err, io.ErrUnexpectedEOF) {
		b.t.Errorf("%s: %v\n%s", what, out.Err, strings.Join(log, "\n"))
	}
	one.expectDatabase("2Gi", was.UID, false)
	if n := len(b.stored(one.name)); n != 2 {
		b.t.Errorf("%s: %d records", what, n)
	}
	return log
}

// TestApprovedReplacement: names of objects to replace have no effect without their admission policy, and
// none if the policy is younger than the plan. Otherwise users with the verb approve, and in their own name,
// have an object replaced, also where no policy demands approvals. It is the only test that installs this
// policy.
func TestApprovedReplacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := &bench{world: w, name: "app"}
	w.publish("app", "1.0.0", databaseChart(t))
	hr := w.release("app", nil, func(hr *helmv2.HelmRelease) {
		hr.Spec.Install, hr.Spec.Upgrade = &helmv2.Install{DisableWait: true}, &helmv2.Upgrade{DisableWait: true, Remediation: &helmv2.UpgradeRemediation{Retries: -1}}
	})
	w.untilReady(hr)
	was := b.database()
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, values("size", "2Gi")) })
	planned := func(token string) *v1alpha1.ReleasePlan {
		t.Helper()
		return w.planNow(hr, token, func(p *v1alpha1.ReleasePlan) bool {
			return planCondition(p, v1alpha1.ConditionReady) == "False/Refused"
		})
	}
	object := v1alpha1.PlanObject{Kind: "StatefulSet", Name: "app"}
	approve := func(as client.Client, plan *v1alpha1.ReleasePlan, by string) error {
		before, changed := plan.DeepCopy(), plan.DeepCopy()
		changed.Spec = v1alpha1.ReleasePlanSpec{Approved: plan.Status.Digest, ApprovedBy: by, Replace: &v1alpha1.PlanReplace{Digest: plan.Status.Digest, Objects: []v1alpha1.PlanObject{object}}}
		return as.Patch(t.Context(), changed, client.MergeFrom(before))
	}
	untilVoid := func(text string) {
		t.Helper()
		w.untilPlanned(hr, "a replacement without effect", func(p *v1alpha1.ReleasePlan) bool {
			c := planMessageOf(p)
			return strings.Contains(c, "has no effect") && strings.Contains(c, text)
		})
		b.expectDatabase("1Gi", was.UID, true)
	}
	w.must(approve(suite.client, planned("one"), "admin"))
	untilVoid("is not installed")

	_, _, policy, _ := w.admissionPolicies()
	t.Cleanup(func() {
		for _, object := range policy {
			w.must(client.IgnoreNotFound(suite.client.Delete(context.WithoutCancel(t.Context()), object)))
		}
	})
	w.installAdmission(policy, v1alpha1.ReleasePlanSpec{Approved: "sha256:0", ApprovedBy: "another", Replace: &v1alpha1.PlanReplace{Digest: "sha256:0", Objects: []v1alpha1.PlanObject{object}}}, "spec.approvedBy must be")
	plan := planned("two")
	none := plan.DeepCopy()
	none.Spec = v1alpha1.ReleasePlanSpec{}
	w.must(suite.client.Patch(t.Context(), none, client.MergeFrom(plan)))
	plan = planned("three")
	w.must(approve(suite.client, plan, "admin"))
	untilVoid("approve a new one")

	// As old as the controller requires, in whole seconds.
	untilTrue(w, "the policy to be old enough", func() bool { return time.Since(policy[1].GetCreationTimestamp().Time) > 11*time.Second })
	w.must(suite.client.Delete(t.Context(), plan))
	plan = planned("four")
	write := rule(v1alpha1.Group, []string{"releaseplans"}, []string{"get", "create", "update", "patch"})
	verb := rule(v1alpha1.Group, []string{"releaseplans"}, []string{v1alpha1.VerbApprove})
	developer, lead := w.person("developer", write), w.person("lead", write, verb)
	name := func(person string) string { return person + "-" + w.namespace }
	const noVerb = "the verb approve on releaseplans is required"
	w.refuses(approve(developer, plan, name("developer")), noVerb)
	w.refuses(approve(lead, plan, name("developer")), "spec.approvedBy must be lead-")
	w.must(approve(lead, plan, name("lead")))
	w.until(hr, "the upgrade", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 2 })
	w.untilReady(hr)
	b.expectDatabase("2Gi", was.UID, false)
	plan = w.untilPlanned(hr, "one that was applied", func(p *v1alpha1.ReleasePlan) bool { return p.Status.AppliedAt != nil })
	for what, change := range map[string]func(*v1alpha1.ReleasePlanSpec){
		"other names":      func(s *v1alpha1.ReleasePlanSpec) { s.Replace.Objects[0].Name = "other" },
		"no names":         func(s *v1alpha1.ReleasePlanSpec) { s.Replace = nil },
		"another approval": func(s *v1alpha1.ReleasePlanSpec) { s.Approved = "sha256:0" },
	} {
		changed := plan.DeepCopy()
		change(&changed.Spec)
		t.Log(what)
		w.refuses(developer.Patch(t.Context(), changed, client.MergeFrom(plan)), noVerb)
	}
}

// planMessageOf returns the message of condition Ready of a plan.
func planMessageOf(p *v1alpha1.ReleasePlan) string {
	for _, c := range p.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			return c.Message
		}
	}
	return ""
}
