// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/release"
)

// bench runs single actions without a controller, so that their logs and requests can be checked.
type bench struct {
	*world
	conn   *cluster.Connection
	runner *helm.Runner
	// name is of the release; empty is app.
	name string

	mu       sync.Mutex
	requests []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{world: newWorld(t)}
	config := rest.CopyConfig(suite.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.requests = append(b.requests, req.Method+" "+req.URL.Path+"?"+req.URL.RawQuery)
			return next.RoundTrip(req)
		})
	})
	var err error
	b.conn, err = cluster.Connect(config)
	b.must(err)
	b.runner = helm.NewRunner(chart.NewStore(chart.Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: maxArtifact}), workers(), nil, sealKey(), time.Now)
	return b
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

// run performs an action on the release with a chart, values and options.
func (b *bench) run(action release.HelmAction, archive []byte, values map[string]any, spec helmv2.HelmReleaseSpec) release.Outcome {
	b.t.Helper()
	return b.runUntil(b.t.Context(), action, archive, values, spec)
}

// runUntil is run with a context that can be cancelled.
func (b *bench) runUntil(ctx context.Context, action release.HelmAction, archive []byte, values map[string]any, spec helmv2.HelmReleaseSpec) release.Outcome {
	b.t.Helper()
	j := b.job(action, archive, values, spec)
	b.mu.Lock()
	b.requests = nil
	b.mu.Unlock()
	return b.runner.Run(ctx, b.conn, j)
}

// job returns the job of an action, and offers its chart for download.
func (b *bench) job(action release.HelmAction, archive []byte, values map[string]any, spec helmv2.HelmReleaseSpec) helm.Job {
	sum := digest.FromBytes(archive)
	b.world.mu.Lock()
	b.artifacts["/"+sum.Encoded()] = archive
	b.world.mu.Unlock()
	name := cmp.Or(b.name, "app")
	return helm.Job{
		Action: action,
		Desired: release.Desired{
			UID: "bench-" + name, Target: release.Target{Name: name, Namespace: b.namespace, StorageNamespace: b.namespace},
			Chart: release.Chart{Name: "note", Version: "1.0.0"},
		},
		Spec: spec, Origin: helm.Origin{Namespace: b.namespace, Name: name},
		Artifact: chart.Artifact{URL: b.server.URL + "/" + sum.Encoded(), Digest: sum.String()}, Values: values,
	}
}

// mustRun runs an action that must succeed.
func (b *bench) mustRun(action release.HelmAction, archive []byte, values map[string]any, spec helmv2.HelmReleaseSpec) release.Outcome {
	b.t.Helper()
	out := b.run(action, archive, values, spec)
	b.must(out.Err)
	return out
}

// asked returns the number of requests that contain all parts.
func (b *bench) asked(parts ...string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, r := range b.requests {
		if containsAll(r, parts...) {
			n++
		}
	}
	return n
}

var (
	install = release.Install{Timeout: actionTimeout}
	upgrade = release.Upgrade{Timeout: actionTimeout}
)

// TestTakingOverIsReported: a field conflict is overridden and logged, and the outcome names the
// field and its manager.
func TestTakingOverIsReported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	archive := appliedChart(t, "1.0.0")
	b.mustRun(install, archive, values("data", values("a", "ours", "quiet", "ours")), helmv2.HelmReleaseSpec{})
	b.patchAs("editor", func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"a": "theirs", "b": "theirs", "quiet": "ours"} })

	out := b.mustRun(upgrade, archive, values("data", values("a", "again", "quiet", "ours")), helmv2.HelmReleaseSpec{})
	cm := b.configMap("app")
	if cm.Data["a"] != "again" || cm.Data["b"] != "theirs" {
		t.Errorf("data is %v", cm.Data)
	}
	logs := strings.Join(out.Logs, "\n")
	if !containsAll(logs, "ConfigMap/"+b.namespace+"/app: taking over field .data.a", `"editor"`) || strings.Contains(logs, ".data.quiet") {
		t.Errorf("logged:\n%s", logs)
	}
	app := release.Object{Version: "v1", Kind: "ConfigMap", Namespace: b.namespace, Name: "app"}
	want := release.Changes{Objects: &release.ObjectCounts{Changed: 1}, Taken: []release.TakenField{{Object: app, Path: ".data.a", Manager: "editor"}}}
	if !reflect.DeepEqual(out.Changes, want) {
		t.Errorf("changes %+v, want %+v", out.Changes, want)
	}
}

// patchAs changes the ConfigMap of the release under another name.
func (b *bench) patchAs(who string, change func(*corev1.ConfigMap)) {
	b.t.Helper()
	cm := b.configMap("app")
	before := cm.DeepCopy()
	change(cm)
	b.must(suite.client.Patch(b.t.Context(), cm, client.MergeFrom(before), client.FieldOwner(who)))
}

// TestRequestsPerObject: applying an object is one request, and checking it one
// more, if it has changed.
func TestRequestsPerObject(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	archive := appliedChart(t, "1.0.0")
	const cm, service = "/configmaps/app?", "/services/app?"
	b.mustRun(install, archive, values("data", values("a", "1")), helmv2.HelmReleaseSpec{})
	for _, object := range []string{cm, service} {
		if dry, wet := b.asked("PATCH", object, "dryRun=All"), b.asked("PATCH", object); dry != 1 || wet != 2 {
			t.Errorf("installing took %d checks of %d patches of %s", dry, wet, object)
		}
		if n := b.asked("GET", object); n != 0 {
			t.Errorf("installing took %d looks at %s", n, object)
		}
	}
	b.mustRun(upgrade, archive, values("data", values("a", "2")), helmv2.HelmReleaseSpec{Upgrade: &helmv2.Upgrade{DisableWait: true}})
	if b.asked("PATCH", cm, "dryRun=All", "fieldValidation=Ignore") != 1 || b.asked("PATCH", cm) != 2 {
		t.Errorf("changing took %v", b.requests)
	}
	if b.asked("PATCH", service, "dryRun=All") != 0 || b.asked("PATCH", service) != 1 || b.asked("GET", service) != 0 {
		t.Errorf("leaving alone took %v", b.requests)
	}
	if n := b.asked("openapi"); n != 0 {
		t.Errorf("the schemas were requested %d times", n)
	}
	version := b.configMap("app").ResourceVersion
	b.mustRun(upgrade, archive, values("data", values("a", "2")), helmv2.HelmReleaseSpec{})
	if got := b.configMap("app").ResourceVersion; got != version {
		t.Error("applying the same changed the object")
	}
}

// TestChangeOfMethodIsOneChange: the change to server-side apply has no intermediate state of an
// object.
func TestChangeOfMethodIsOneChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	no := false
	archive := servingChart(t, map[string]string{"templates/serving.yaml": strings.Replace(servingTemplate, "image: example.com/none",
		"image: example.com/none, env: {{ .Values.env | toJson }}", 1)})
	env := func(name string) map[string]any { return values("env", []any{values("name", name, "value", "x")}) }
	b.mustRun(install, archive, env("A"), helmv2.HelmReleaseSpec{Install: &helmv2.Install{ServerSideApply: &no, DisableWait: true}})
	b.mustRun(upgrade, archive, env("B"), helmv2.HelmReleaseSpec{
		Upgrade: &helmv2.Upgrade{ServerSideApply: helmv2.ServerSideApplyEnabled, DisableWait: true},
	})
	d := b.deployment("app")
	if got := d.Spec.Template.Spec.Containers[0].Env; len(got) != 1 || got[0].Name != "B" || d.Generation != 2 {
		t.Errorf("generation %d has env %v", d.Generation, got)
	}
}

// TestTracesOfHelmGo: field ownership of a manual revision, or of an interrupted upgrade, is
// removed although no record has it.
func TestTracesOfHelmGo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	archive := appliedChart(t, "1.0.0")
	spec := helmv2.HelmReleaseSpec{Upgrade: &helmv2.Upgrade{DisableOpenAPIValidation: true}}
	b.mustRun(install, archive, values("data", values("a", "1")), helmv2.HelmReleaseSpec{})
	b.patchAs("helm", func(cm *corev1.ConfigMap) { cm.Data["b"] = "by hand" })
	service := b.service("app")
	before := service.DeepCopy()
	service.Spec.Ports[0].Port = 90
	b.must(suite.client.Patch(t.Context(), service, client.MergeFrom(before), client.FieldOwner("helm")))

	b.mustRun(upgrade, archive, values("data", values("a", "1"), "port", 81), spec)
	if cm := b.configMap("app"); len(cm.Data) != 1 || len(cm.ManagedFields) != 1 {
		t.Errorf("data %v, managed by %q", cm.Data, managers(cm))
	}
	if ports := b.service("app").Spec.Ports; len(ports) != 1 || ports[0].Port != 81 {
		t.Errorf("ports %v", ports)
	}
}
