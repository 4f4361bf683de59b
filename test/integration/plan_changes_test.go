// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/helm/planning"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
)

// plannedChart has objects of which an upgrade deletes, changes, replaces or is refused some.
const plannedChart = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: {{ .Values.image }}
        {{- with .Values.env }}
        env: [{name: A, value: {{ . }}}]
        {{- end }}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {password: {{ .Values.password }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: same}
data: {a: b}
---
{{- if .Values.cache }}
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: cache}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept}
{{- else }}
apiVersion: v1
kind: ConfigMap
metadata: {name: new}
data: {quoted: {{ .Values.password }}}
{{- end }}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: {{ .Values.address }}, selector: {app: web}, ports: [{port: 80, name: http}]}
`

const (
	firstSecret  = "canary-of-the-first-revision"
	secondSecret = "canary-of-the-second-revision"
)

// plan computes the plan of a job.
func (b *bench) plan(j helm.Job, action v1alpha1.PlanAction) plan.Plan {
	b.t.Helper()
	b.mu.Lock()
	b.requests = nil
	b.mu.Unlock()
	j.Layers = func() []plan.Layer { return []plan.Layer{{Name: plan.LayerInline, Values: j.Values}} }
	p, err := b.runner.Plan(b.t.Context(), b.conn, j, helm.PlanRequest{
		Action: action, Inputs: "sha256:inputs",
	})
	b.must(err)
	return p
}

// approved returns a job with an approved plan.
func approved(j helm.Job, p plan.Plan) helm.Job {
	ref := release.PlanRef{Digest: p.Status.Digest, ApprovedBy: "jane"}
	switch a := j.Action.(type) {
	case release.Install:
		a.Plan = ref
		j.Action = a
	case release.Upgrade:
		a.Plan = ref
		j.Action = a
	case release.Uninstall:
		a.Plan = ref
		j.Action = a
	}
	return j
}

// writes returns the requests that change anything but the plan.
func (b *bench) writes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, r := range b.requests {
		if !strings.HasPrefix(r, http.MethodGet) && !strings.Contains(r, "dryRun=All") && !strings.Contains(r, "pintle.plan.v1.") {
			all = append(all, r)
		}
	}
	return all
}

// describeChanges returns changes as text, without the content of created objects.
func describeChanges(all []v1alpha1.PlanChange) []string {
	var texts []string
	for _, c := range all {
		if c.Change == v1alpha1.ChangeCreate {
			c.Fields = nil
		}
		text := fmt.Sprintf("%s %s/%s", c.Change, c.Kind, c.Name)
		for _, f := range c.Fields {
			text += fmt.Sprintf(" %s:%s>%s", f.Path, f.From, f.To)
			if f.TakenFrom != "" {
				text += " of " + f.TakenFrom
			}
		}
		if c.Destructive {
			text += " destructive"
		}
		texts = append(texts, text)
	}
	return texts
}

// TestPlanStatesChanges: the plan of an upgrade states the changes that a real API server would make.
func TestPlanStatesChanges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec helmv2.HelmReleaseSpec
		web  string
	}{
		"ServerSide": {helmv2.HelmReleaseSpec{}, "Update Deployment/web .spec.replicas:5>2 of scale-tool" +
			` .spec.template.spec.containers[name="main"].env[name="A"]:{"name":"A","value":"x"}> .spec.template.spec.containers[name="main"].image:"web:7">"web:8"`},
		"ClientSide": {helmv2.HelmReleaseSpec{
			Install: &helmv2.Install{ServerSideApply: new(bool)}, Upgrade: &helmv2.Upgrade{ServerSideApply: helmv2.ServerSideApplyDisabled},
		}, "Update Deployment/web .spec.replicas:5>2 of scale-tool" +
			` .spec.template.spec.containers[name="main"].env[name="A"]:{"name":"A","value":"x"}> .spec.template.spec.containers[name="main"].image:"web:7">"web:8"`},
		"ToServerSide": {helmv2.HelmReleaseSpec{
			Install: &helmv2.Install{ServerSideApply: new(bool)}, Upgrade: &helmv2.Upgrade{ServerSideApply: helmv2.ServerSideApplyEnabled},
		}, "Update Deployment/web .spec.replicas:5>2 of scale-tool" +
			` .spec.template.spec.containers[name="main"].env[name="A"]:{"name":"A","value":"x"}> .spec.template.spec.containers[name="main"].image:"web:7">"web:8"`},
		"Force": {helmv2.HelmReleaseSpec{
			Install: &helmv2.Install{ServerSideApply: new(bool)}, Upgrade: &helmv2.Upgrade{ServerSideApply: helmv2.ServerSideApplyDisabled, Force: true},
		}, "Replace Deployment/web .spec.replicas:5>2 of scale-tool" +
			` .spec.template.spec.containers[name="main"].env[name="A"]:{"name":"A","value":"x"}> .spec.template.spec.containers[name="main"].image:"web:7">"web:8"`},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "ServerSide" {
				t.Skip("long")
			}
			t.Parallel()
			b := newBench(t)
			archive := pack(t, "note", "1.0.0", map[string]string{"templates/all.yaml": plannedChart, "values.yaml": "address: None\n"})
			one := values("replicas", 1, "image", "web:7", "env", "x", "password", firstSecret, "cache", true)
			spec := tc.spec
			spec.Install = orNew(spec.Install)
			spec.Install.DisableWait = true
			b.mustRun(install, archive, one, spec)
			b.writeAs(b.bare("apps/v1", "Deployment", "web"), "scale-tool", types.MergePatchType, `{"spec":{"replicas":5}}`)
			b.writeAs(b.bare("v1", "ConfigMap", "kept"), "person", types.MergePatchType, `{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`)
			two := values("replicas", 2, "image", "web:8", "password", secondSecret, "address", "10.0.0.77")
			j := b.job(upgrade, archive, two, spec)
			p := b.plan(j, v1alpha1.PlanUpgrade)
			if got, want := b.writes(), []string{"POST /api/v1/namespaces/" + b.namespace + "/secrets?"}; !slices.Equal(got, want) {
				t.Errorf("the plan has written %q, besides its Secret", got)
			}
			verb, _, _ := strings.Cut(tc.web, " ")
			want := []string{
				"Delete PersistentVolumeClaim/cache destructive", "Refused Service/web", "Create ConfigMap/new", tc.web,
				verb + ` Secret/web .data.password:***>***`,
			}
			if verb == string(v1alpha1.ChangeReplace) {
				want = slices.Concat(want[:2], want[3:], want[2:3])
			}
			if diff := cmp.Diff(want, describeChanges(p.All)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if reason := p.All[1].Reason; !strings.Contains(reason, "clusterIP") {
				t.Errorf("refused for %q", reason)
			}
			raw, err := json.Marshal(p)
			b.must(err)
			if text := string(raw); strings.Contains(text, firstSecret) || strings.Contains(text, secondSecret) {
				t.Errorf("a secret is in the plan: %s", text)
			}
			if s := p.Status.Summary; s.Unchanged != 1 || s.Delete != 1 || s.Refused != 1 || s.Create != 1 || s.Update+s.Replace != 2 {
				t.Errorf("summary %+v", s)
			}
			created := slices.IndexFunc(p.All, func(c v1alpha1.PlanChange) bool { return c.Change == v1alpha1.ChangeCreate })
			if !slices.ContainsFunc(p.All[created].Fields, func(f v1alpha1.PlanField) bool { return strings.HasPrefix(f.Path, ".data") }) {
				t.Errorf("the content of the created object is %+v", p.All[created].Fields)
			}
			images := []v1alpha1.PlanImage{{Object: "Deployment/web", Container: "main", From: "web:7", To: "web:8"}}
			if diff := cmp.Diff(images, p.Status.Images); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
			keys := []string{"address inline", "cache removed", "env removed", "image inline", "password inline", "replicas inline"}
			var got []string
			for _, v := range p.Status.Values {
				got = append(got, v.Key+" "+v.Layer)
			}
			if !slices.Equal(got, keys) {
				t.Errorf("values %q, want %q", got, keys)
			}
			if w := strings.Join(p.Status.Warnings, "\n"); !strings.Contains(w, "ConfigMap/"+b.namespace+"/kept is not deleted") {
				t.Errorf("warnings %s", w)
			}
			// One read for each object that is changed or deleted, and none of the others.
			if n := b.asked("GET", "/configmaps/same"); n != 0 {
				t.Errorf("an object that does not change was read %d times", n)
			}
			if n := b.asked("GET", "/deployments/web"); n != 1 {
				t.Errorf("a changed object was read %d times", n)
			}
		})
	}
}

func orNew(i *helmv2.Install) *helmv2.Install {
	if i == nil {
		return &helmv2.Install{}
	}
	return i
}

// storedRevision returns a revision as Helm reads it.
func (b *bench) storedRevision(version int) *helmrelease.Release {
	b.t.Helper()
	clients, err := kubernetes.NewForConfig(suite.config)
	b.must(err)
	rls, err := driver.NewSecrets(clients.CoreV1().Secrets(b.namespace)).Get(fmt.Sprintf("sh.helm.release.v1.app.v%d", version))
	b.must(err)
	return rls
}

// unstableChart renders differently each time, and reads the cluster.
const unstableChart = `apiVersion: v1
kind: ConfigMap
metadata: {name: unstable}
data:
  random: {{ randAlphaNum 20 | quote }}
  now: {{ now | date "15:04:05.000000" | quote }}
  found: {{ (lookup "v1" "ConfigMap" .Release.Namespace "seen").data.n | default "none" | quote }}
  n: {{ .Values.n | quote }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: part-{{ .Values.n }}}
`

// TestAppliedIsPlanned: the approved upgrade applies the text of its plan, although the chart renders
// differently each time and its lookup returns another object after the plan.
func TestAppliedIsPlanned(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	archive := pack(t, "note", "1.0.0", map[string]string{"templates/all.yaml": unstableChart})
	seen := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "seen", Namespace: b.namespace}, Data: map[string]string{"n": "0"}}
	b.must(suite.client.Create(t.Context(), seen))
	j := b.job(install, archive, values("n", 0), helmv2.HelmReleaseSpec{})
	out := b.runner.Run(t.Context(), b.conn, approved(j, b.plan(j, v1alpha1.PlanInstall)))
	b.must(out.Err)
	spec := helmv2.HelmReleaseSpec{}
	upgrades := 100
	if testing.Short() {
		upgrades = 2
	}
	for n := 1; n <= upgrades; n++ {
		j := b.job(upgrade, archive, values("n", n), spec)
		p := b.plan(j, v1alpha1.PlanUpgrade)
		store, err := planning.Open(b.conn, j.Desired.Target)
		b.must(err)
		content, err := store.Read(t.Context(), p.Status.Digest)
		b.must(err)
		seen.Data["n"] = fmt.Sprint(n)
		b.must(suite.client.Update(t.Context(), seen))

		out := b.runner.Run(t.Context(), b.conn, approved(j, p))
		b.must(out.Err)
		stored := b.storedRevision(n + 1)
		if stored.Manifest != content.Text.Manifest {
			t.Fatalf("revision %d has another manifest than its plan:\n%s\n%s", n+1, stored.Manifest, content.Text.Manifest)
		}
		live := b.configMap("unstable")
		for _, key := range []string{"random", "now", "found"} {
			if text := fmt.Sprintf("%s: %q", key, live.Data[key]); !strings.Contains(content.Text.Manifest, text) {
				t.Fatalf("revision %d: %s was applied, and not planned:\n%s", n+1, text, content.Text.Manifest)
			}
		}
		want := []string{fmt.Sprintf("Delete ConfigMap/part-%d destructive", n-1), fmt.Sprintf("Create ConfigMap/part-%d", n)}
		if got := describeChanges(p.All); !slices.Equal(got[:2], want) || len(got) != 3 {
			t.Fatalf("revision %d: changes %q, want %q", n+1, got, want)
		}
	}
}

// TestVoidPlanWritesNothing: a change of a live object after the plan makes the plan void, and not one
// request changes anything.
func TestVoidPlanWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	archive := appliedChart(t, "1.0.0")
	b.mustRun(install, archive, values("data", values("a", "one")), helmv2.HelmReleaseSpec{})
	j := b.job(upgrade, archive, values("data", values("a", "two")), helmv2.HelmReleaseSpec{})
	p := b.plan(j, v1alpha1.PlanUpgrade)
	b.patchAs("editor", func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"a": "two"} })
	b.mu.Lock()
	b.requests = nil
	b.mu.Unlock()
	out := b.runner.Run(t.Context(), b.conn, approved(j, p))
	if !errors.Is(out.Err, release.ErrPlanVoid) || !out.PlanVoid || out.Stored() {
		t.Errorf("error %v", out.Err)
	}
	if got := b.writes(); len(got) > 0 {
		t.Errorf("the void plan has written %q", got)
	}
	// The next plan is about the object as it is now.
	again := b.plan(j, v1alpha1.PlanUpgrade)
	out = b.runner.Run(t.Context(), b.conn, approved(j, again))
	b.must(out.Err)
	var record corev1.Secret
	b.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "sh.helm.release.v1.app.v2"}, &record))
	if by := record.Annotations[v1alpha1.AnnotationApprovedBy]; by != "jane" {
		t.Errorf("the record was approved by %q", by)
	}
}

// TestPlannedCRDs: an approved install creates the CRDs of its plan, and then the object that they
// define. A later plan states which CRDs are replaced.
func TestPlannedCRDs(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := newBench(t)
	group := "planned." + b.namespace + ".example.com"
	t.Cleanup(func() {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		crd.SetName("things." + group)
		b.must(client.IgnoreNotFound(suite.client.Delete(context.WithoutCancel(t.Context()), crd)))
	})
	chart := func(versions ...string) []byte {
		return pack(t, "note", "1.0.0", map[string]string{"crds/thing.yaml": definition(group, versions...), "templates/thing.yaml": thingTemplate(group, "v1")})
	}
	j := b.job(install, chart("v1"), nil, helmv2.HelmReleaseSpec{})
	p := b.plan(j, v1alpha1.PlanInstall)
	if got, want := describeChanges(p.All), []string{"Create CustomResourceDefinition/things." + group, "Create Thing/app"}; !slices.Equal(got, want) {
		t.Fatalf("changes %q, want %q", got, want)
	}
	out := b.runner.Run(t.Context(), b.conn, approved(j, p))
	b.must(out.Err)
	if b.live(b.bare(group+"/v1", "Thing", "app")) == nil {
		t.Error("the object does not exist")
	}
	for want, policy := range []helmv2.CRDsPolicy{helmv2.CRDsCreate, helmv2.CRDsCreateReplace} {
		j := b.job(upgrade, chart("v1", "v2"), values("field", "size"), helmv2.HelmReleaseSpec{Upgrade: &helmv2.Upgrade{CRDs: policy}})
		p := b.plan(j, v1alpha1.PlanUpgrade)
		if len(p.Status.CRDs) != want || len(p.Status.Changes) != 0 {
			t.Errorf("%s: CRDs %q, changes %q", policy, describeChanges(p.Status.CRDs), describeChanges(p.Status.Changes))
		}
		if want > 0 && (p.Status.CRDs[0].Change != v1alpha1.ChangeReplace || len(p.Status.CRDs[0].Fields) == 0) {
			t.Errorf("CRDs %+v", p.Status.CRDs)
		}
		out := b.runner.Run(t.Context(), b.conn, approved(j, p))
		b.must(out.Err)
		if got := len(b.definition(group).Spec.Versions); got != 1+want {
			t.Errorf("%s: the CRD has %d versions", policy, got)
		}
	}
}

// TestPlannedRemoval: the plans of an uninstall and of a reinstall state that a PersistentVolumeClaim is
// deleted, and both actions delete what their plan states.
func TestPlannedRemoval(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := newBench(t)
	archive := pack(t, "note", "1.0.0", map[string]string{"templates/all.yaml": plannedChart, "values.yaml": "address: None\n"})
	v := values("replicas", 1, "image", "web:7", "password", firstSecret, "cache", true)
	spec := helmv2.HelmReleaseSpec{Install: &helmv2.Install{DisableWait: true}, Uninstall: &helmv2.Uninstall{DisableWait: true}}
	b.mustRun(install, archive, v, spec)
	target := release.Target{Name: "app", Namespace: b.namespace, StorageNamespace: b.namespace}
	next := values("replicas", 1, "image", "web:8", "password", firstSecret)
	remove := b.job(release.Uninstall{Timeout: install.Timeout, Target: target}, archive, next, spec)
	p := b.plan(remove, v1alpha1.PlanReinstall)
	old := []string{
		"Delete ConfigMap/kept destructive", "Delete ConfigMap/same destructive", "Delete Deployment/web destructive",
		"Delete PersistentVolumeClaim/cache destructive", "Delete Secret/web destructive", "Delete Service/web destructive",
	}
	created := []string{"Create ConfigMap/new", "Create ConfigMap/same", "Create Deployment/web", "Create Secret/web", "Create Service/web"}
	if diff := cmp.Diff(slices.Concat(old, created), describeChanges(p.All)); diff != "" {
		t.Errorf("reinstall (-want +got):\n%s", diff)
	}
	out := b.runner.Run(t.Context(), b.conn, approved(remove, p))
	b.must(out.Err)
	create := b.job(install, archive, next, spec)
	out = b.runner.Run(t.Context(), b.conn, approved(create, p))
	b.must(out.Err)
	p = b.plan(remove, v1alpha1.PlanUninstall)
	if p.Status.Summary.Destructive != 5 || p.Status.To != nil || len(p.Status.Values) > 0 {
		t.Errorf("uninstall: %+v", p.Status)
	}
	out = b.runner.Run(t.Context(), b.conn, approved(remove, p))
	b.must(out.Err)
}
