// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/render/handler"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/worker"
)

// desired returns the diff of a world.
func (w *world) desired() view.Diff {
	w.t.Helper()
	d, err := w.differ.Desired(w.t.Context(), w.query())
	if err != nil {
		w.t.Fatal(err)
	}
	w.unwritten()
	return d
}

func (w *world) expect(d view.Diff, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, brief(d)); diff != "" {
		w.t.Errorf("diff (-want +got):\n%s", diff)
	}
}

// TestDesired: a diff states the install, nothing for a release in sync, and an upgrade with created,
// changed and deleted objects, hooks and notes.
func TestDesired(t *testing.T) {
	w := newWorld(t)
	w.values(map[string]any{"message": "one"})
	d := w.desired()
	w.expect(d, "Install no release in storage for object",
		"created ConfigMap prod/app", "created ConfigMap prod/less", "created Secret prod/token", "hook added Job migrate (batch/v1)")
	if got := strings.Join(d.Objects[0].Lines, "\n"); !strings.Contains(got, "+  message: one") {
		t.Errorf("lines of a new object:\n%s", got)
	}
	w.apply()
	d = w.desired()
	if w.expect(d, ""); d.Differs() {
		t.Error("a release in sync differs")
	}
	w.values(map[string]any{"message": "two", "more": true, "less": true})
	d = w.desired()
	w.expect(d, "Upgrade release config values changed", "deleted ConfigMap prod/less", `changed ConfigMap prod/app .data.message:"one">"two"`,
		"created ConfigMap prod/more", "hook changed Job migrate (batch/v1)")
	if d.From.Revision != 1 || d.To.Chart != "note@1.0.0" || d.Unchanged != 1 || !d.Differs() || len(d.Values) != 3 {
		t.Errorf("from %+v to %+v, %d unchanged, values %+v", d.From, d.To, d.Unchanged, d.Values)
	}
	if got := strings.Join(d.Notes, "\n"); !strings.Contains(got, "-one and") || !strings.Contains(got, "+two and") {
		t.Errorf("notes:\n%s", got)
	}
}

// TestCheckouts: values come from a directory in place of a source that does not exist, and not through
// a link.
func TestCheckouts(t *testing.T) {
	w := newWorld(t)
	w.values(map[string]any{"less": true})
	w.hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: helmv2.KindGitRepository, Namespace: "shared", Name: "config", ValuesKey: "envs/*.yaml"}}
	outside, dir := t.TempDir(), t.TempDir()
	for path, content := range map[string]string{filepath.Join(outside, "x.yaml"): "message: outside", filepath.Join(dir, "envs", "a.yaml"): "message: inside"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	q := w.query()
	q.Checkouts = inputs.Checkouts{{Namespace: "shared", Name: "config"}: root}
	d, err := w.differ.Proposed(t.Context(), q)
	if err != nil || len(d.Objects) == 0 || !strings.Contains(strings.Join(d.Objects[0].Lines, "\n"), "+  message: inside") {
		t.Errorf("%+v, error %v", d, err)
	}
	if err := os.Symlink(filepath.Join(outside, "x.yaml"), filepath.Join(dir, "envs", "b.yaml")); err != nil {
		t.Fatal(err)
	}
	if again, err := w.differ.Proposed(t.Context(), q); err != nil || !slices.Equal(brief(again), brief(d)) {
		t.Errorf("with a link: %v, error %v", again, err)
	}
	q.Checkouts = nil
	if _, err := w.differ.Proposed(t.Context(), q); err == nil || !strings.Contains(err.Error(), "GitRepository 'shared/config' not found") {
		t.Errorf("%v", err)
	}
	w.unwritten()
}

// TestGivenArchive: a given archive is served, and other artifacts are downloaded.
func TestGivenArchive(t *testing.T) {
	t.Parallel()
	base := sender(func(req *http.Request) (*http.Response, error) { return nil, errors.New("sent to " + req.URL.Host) })
	given := &Given{}
	transport := given.Before(base)
	for url, want := range map[string]string{given.Artifact("web.tgz", []byte("given")).URL: "", given.Artifact("a b?%20#.tgz", []byte("given")).URL: "", "http://source-controller/x": "sent to source-controller"} {
		resp, err := (&http.Client{Transport: transport}).Get(url) //nolint:noctx // a test
		var body []byte
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if (string(body) == "given") != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

// TestRevision: a stored revision is compared with live objects, also with those that the newest
// revision has in the same form.
func TestRevision(t *testing.T) {
	w := newWorld(t)
	w.values(map[string]any{"message": "one"})
	w.apply()
	w.values(map[string]any{"message": "two", "more": true})
	w.apply()
	w.Objects[appPath]["data"] = map[string]any{"message": "other"}
	delete(w.Objects, "/api/v1/namespaces/prod/configmaps/less")
	d, err := w.differ.Revision(t.Context(), w.query(), 1)
	if err != nil {
		t.Fatal(err)
	}
	w.unwritten()
	w.expect(d, "Rollback live objects differ from revision 1", "deleted ConfigMap prod/more",
		`changed ConfigMap prod/app .data.message:"other">"one"`, "created ConfigMap prod/less", "hook changed Job migrate (batch/v1)")
	if d.From.Revision != 2 || d.To.Revision != 1 {
		t.Errorf("from %+v to %+v", d.From, d.To)
	}
	if _, err := w.differ.Revision(t.Context(), w.query(), 7); err == nil || !strings.Contains(err.Error(), "revision 7 of release app") {
		t.Errorf("error %v", err)
	}
}

// TestDrift: drift is shown on request, and otherwise if it is corrected.
func TestDrift(t *testing.T) {
	w := newWorld(t)
	w.values(map[string]any{"message": "one"})
	w.apply()
	drift := func() view.Diff {
		d, err := w.differ.Drift(t.Context(), w.query())
		if err != nil {
			t.Fatal(err)
		}
		w.unwritten()
		return d
	}
	enabled := &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
	w.hr.Spec.DriftDetection = enabled
	w.expect(drift(), "")
	w.hr.Spec.DriftDetection = nil
	delete(w.Objects, "/api/v1/namespaces/prod/configmaps/less")
	w.Objects[appPath]["data"] = map[string]any{"message": "other"}
	w.expect(w.desired(), "")
	want := []string{"drifted: created ConfigMap prod/less", `drifted: changed ConfigMap prod/app .data.message:"other">"one"`}
	if d := drift(); !d.Differs() {
		t.Error("drift is no difference")
	} else {
		w.expect(d, append([]string{""}, want...)...)
	}
	w.hr.Spec.DriftDetection = enabled
	w.expect(w.desired(), append([]string{""}, want...)...)
	w.expect(drift(), append([]string{"CorrectDrift"}, want...)...)
	// An upgrade applies all objects, and they are not listed twice.
	w.values(map[string]any{"message": "two"})
	w.expect(w.desired(), "Upgrade release config values changed", `changed ConfigMap prod/app .data.message:"other">"two"`, "created ConfigMap prod/less", "hook changed Job migrate (batch/v1)")
	w.hr.Spec.DriftDetection.Ignore = []helmv2.IgnoreRule{{Paths: []string{"/data"}}}
	w.expect(drift(), "CorrectDrift", want[0])
}

// TestUnprovenDrift: live objects are not compared with a revision that the history does not prove, as
// the controller does not compare them: any user who may write Secrets can have written its record.
func TestUnprovenDrift(t *testing.T) {
	w := newWorld(t)
	w.values(map[string]any{"message": "one"})
	w.apply()
	w.hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
	w.Objects[appPath]["data"] = map[string]any{"message": "other"}
	w.hr.Status.History[0].Digest = "sha256:" + strings.Repeat("0", 64)
	w.Reads = nil
	if d, err := w.differ.Drift(t.Context(), w.query()); err == nil || !strings.Contains(err.Error(), "revision 1") {
		t.Errorf("it is compared: %v, %v", brief(d), err)
	}
	if slices.ContainsFunc(w.Reads, func(read string) bool { return strings.Contains(read, appPath) }) {
		t.Errorf("it was read: %q", w.Reads)
	}
	w.expect(w.desired(), "Upgrade release digest verification error", `changed ConfigMap prod/app .data.message:"other">"one"`)
}

// TestOverriddenManagers: fields of the managers that the controller takes over are drift.
func TestOverriddenManagers(t *testing.T) {
	w := newWorld(t)
	w.values(map[string]any{"message": "one"})
	w.apply()
	live := w.Objects[appPath]
	live["data"] = map[string]any{"message": "one", "extra": "1"}
	live["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
		"manager": "kustomize-controller", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": map[string]any{"f:extra": map[string]any{}}},
	}}
	drift := func() view.Diff {
		d, err := w.differ.Drift(t.Context(), w.query())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	w.expect(drift(), "")
	w.differ.OverrideManagers = []string{"kustomize-controller"}
	w.expect(drift(), "", `drifted: changed ConfigMap prod/app .data.extra:"1"> of kustomize-controller`)
}

// TestRequestedByAnother: an object belongs to the release that its metadata name if a HelmRelease
// requests that release, even if no record of it is stored.
func TestRequestedByAnother(t *testing.T) {
	w := newWorld(t)
	w.values(map[string]any{"message": "one"})
	w.Objects[appPath] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"namespace": "prod", "name": "app", "labels": map[string]any{"app.kubernetes.io/managed-by": "Helm"},
		"annotations": map[string]any{"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": "prod"},
	}}
	others := []string{"created ConfigMap prod/less", "created Secret prod/token", "hook added Job migrate (batch/v1)"}
	const install, refused = "Install no release in storage for object", "ConfigMap/prod/app is owned by Helm release prod/other of HelmRelease 'prod/other'"
	d := w.desired()
	w.expect(d, append([]string{install, brief(d)[1]}, others...)...)
	if !strings.HasPrefix(brief(d)[1], "changed ConfigMap prod/app") {
		t.Errorf("an object without an owner is not taken over: %q", brief(d)[1])
	}
	w.objects = append(w.objects, &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "other", UID: "uid-2"}})
	w.expect(w.desired(), slices.Concat([]string{install, "refused ConfigMap prod/app"}, others, []string{"problem ConfigMap prod/app: " + refused})...)
}

// TestStoredTarget: revisions are read where StoredTarget says, and nowhere else. The page checks the
// rights of its users there.
func TestStoredTarget(t *testing.T) {
	for name, edit := range map[string]func(*helmv2.HelmRelease){
		"Spec":   func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = "store" },
		"Status": func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace, hr.Status.StorageNamespace = "store", "former" },
		"Moved": func(hr *helmv2.HelmRelease) {
			hr.Spec.StorageNamespace, hr.Status.StorageNamespace = "store", "former"
			hr.Status.History = helmv2.Snapshots{{Name: "app", Namespace: "prod", Version: 1}}
		},
		"Held": func(hr *helmv2.HelmRelease) {
			hr.Spec.StorageNamespace, hr.Status.StorageNamespace = "store", "former"
			hr.Status.History = helmv2.Snapshots{{Name: "app", Namespace: "prod", Version: 1}}
			hr.Annotations = map[string]string{helmv2.AnnotationRollbackTo: "1"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			edit(w.hr)
			if _, err := w.differ.DriftFacts(t.Context(), w.query()); err != nil {
				t.Fatal(err)
			}
			want := "GET /api/v1/namespaces/" + StoredTarget(w.hr).StorageNamespace + "/secrets"
			secrets := slices.DeleteFunc(slices.Clone(w.Reads), func(read string) bool { return !strings.Contains(read, "/secrets") })
			if len(secrets) == 0 || slices.ContainsFunc(secrets, func(read string) bool { return !strings.HasPrefix(read, want) }) {
				t.Errorf("the reads are %q, and StoredTarget is in %q", secrets, want)
			}
		})
	}
}

// TestChoose: objects that are not chosen are neither read nor compared.
func TestChoose(t *testing.T) {
	w := newWorld(t)
	w.values(map[string]any{"message": "one"})
	w.apply()
	delete(w.Objects, "/api/v1/namespaces/prod/configmaps/less")
	w.Objects[appPath]["data"] = map[string]any{"message": "other"}
	w.Refuse = func(_, path string) int {
		if path == appPath {
			return http.StatusTeapot
		}
		return 0
	}
	q := w.query()
	q.Choose = func(_ context.Context, all []*resource.Info) []*resource.Info {
		return slices.DeleteFunc(all, func(o *resource.Info) bool { return o.Name == "app" })
	}
	d, err := w.differ.Drift(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if w.expect(d, "", "drifted: created ConfigMap prod/less"); d.Revision != 1 {
		t.Errorf("the revision is %d", d.Revision)
	}
}

// TestSecrets: neither the values of Secrets that values come from, nor those of the chart's Secrets, nor
// their former values are in a diff.
func TestSecrets(t *testing.T) {
	w := newWorld(t)
	w.values(map[string]any{"message": "one"})
	w.secret("correct-horse-1")
	w.apply()
	w.secret("battery-staple-2")
	w.apply()
	w.secret("purple-monkey-3")
	w.values(map[string]any{"message": "one", "more": true})
	w.Objects[appPath]["data"] = map[string]any{"message": "one", "quoted": "purple-monkey-3 and generated-token"}
	all := map[string]view.Diff{"desired": w.desired()}
	var err error
	if all["drift"], err = w.differ.Drift(t.Context(), w.query()); err != nil {
		t.Fatal(err)
	}
	if all["revision"], err = w.differ.Revision(t.Context(), w.query(), 1); err != nil {
		t.Fatal(err)
	}
	w.Objects[appPath]["data"] = map[string]any{"message": "one", "quoted": "the password is battery-staple-2"}
	w.hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
	all["rotated"] = w.desired()
	w.hr.Status = helmv2.HelmReleaseStatus{}
	w.hr.Spec.ReleaseName = "other"
	all["install"] = w.desired()
	for name, d := range all {
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, secret := range []string{"correct-horse-1", "battery-staple-2", "purple-monkey-3", "generated-token"} {
			if strings.Contains(text, secret) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))) {
				t.Errorf("%s: %s is in %s", name, secret, text)
			}
		}
		if !strings.Contains(text, "***") {
			t.Errorf("%s: nothing is masked in %s", name, text)
		}
	}
}

// TestRefusals: what the API server refuses is a problem of the object, and what cannot be read at all is
// an error.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.values(map[string]any{"message": "one"})
	w.apply()
	w.values(map[string]any{"message": "two"})
	w.Refuse = func(method, path string) int {
		if method != http.MethodGet && strings.HasSuffix(path, "/configmaps/app") {
			return http.StatusForbidden
		}
		return 0
	}
	d := w.desired()
	if len(d.Problems) != 1 || !strings.HasPrefix(d.Problems[0], "ConfigMap prod/app: ") || d.Objects[0].Change != view.DiffRefused {
		t.Errorf("problems %q, objects %+v", d.Problems, d.Objects)
	}
	w.Refuse = func(_, path string) int {
		if strings.HasSuffix(path, "/secrets") {
			return http.StatusForbidden
		}
		return 0
	}
	if _, err := w.differ.Desired(t.Context(), w.query()); err == nil || !strings.HasPrefix(err.Error(), "stored revisions: ") {
		t.Errorf("error %v", err)
	}
	w.hr.Spec.KubeConfig = &helmv2.KubeConfigReference{}
	if _, err := w.differ.Desired(t.Context(), w.query()); err == nil || !strings.Contains(err.Error(), "in another cluster") {
		t.Errorf("error %v", err)
	}
}

// TestHelmChart: the artifact of a HelmChart that stands for another chart than the spec is not used.
func TestHelmChart(t *testing.T) {
	w := newWorld(t)
	w.hr.Spec.ChartRef = nil
	w.hr.Spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
		Chart: "note", Version: "2.0.0", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts"},
	}}
	desired := func() string {
		q := w.query()
		q.Artifact = chart.Artifact{}
		_, err := w.differ.Desired(t.Context(), q)
		if err == nil {
			return ""
		}
		return err.Error()
	}
	if err := desired(); !strings.HasPrefix(err, "HelmChart 'prod/prod-app' does not exist: ") {
		t.Errorf("error %s", err)
	}
	have := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "prod-app"}, Spec: sourcev1.HelmChartSpec{
		Chart: "note", Version: "1.0.0", ReconcileStrategy: "ChartVersion", SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: "HelmRepository", Name: "charts"},
	}}
	w.objects = []client.Object{have}
	if err := desired(); !strings.HasPrefix(err, "HelmChart 'prod/prod-app' has chart note in version 1.0.0, and not the chart of spec.chart: ") {
		t.Errorf("error %s", err)
	}
	// Only the state of the artifact is an obstacle then.
	have.Spec.Version = "2.0.0"
	if err := desired(); err == "" || strings.Contains(err, "spec.chart") {
		t.Errorf("error %s", err)
	}
}

// TestOCIRepositoryOfATemplate: as TestHelmChart, for the other kind.
func TestOCIRepositoryOfATemplate(t *testing.T) {
	w := newWorld(t)
	w.hr.Spec.ChartRef, w.hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Kind: helmv2.KindOCIRepository}
	q := w.query()
	q.Artifact = chart.Artifact{}
	if _, err := w.differ.Desired(t.Context(), q); err == nil || !strings.Contains(err.Error(), "spec.chart.spec.url must be set") {
		t.Errorf("error %v", err)
	}
	w.hr.Spec.Chart.Spec.URL, w.hr.Spec.Chart.Spec.Reference = "oci://registry/charts/note", &helmv2.OCIRepositoryRef{Tag: "2.0.0"}
	have, _ := inputs.TemplateSource(w.hr).(*sourcev1.OCIRepository)
	have.Spec.Reference = &sourcev1.OCIRepositoryRef{Tag: "1.0.0"}
	for want, objects := range map[string][]client.Object{
		"OCIRepository 'prod/prod-app' does not exist: ":                                                              nil,
		"OCIRepository 'prod/prod-app' has chart oci://registry/charts/note:1.0.0, and not the chart of spec.chart: ": {have},
	} {
		w.objects = objects
		q := w.query()
		q.Artifact = chart.Artifact{}
		if _, err := w.differ.Desired(t.Context(), q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestReadOnly: only reads and dry runs are sent.
func TestReadOnly(t *testing.T) {
	for request, want := range map[string]bool{
		"GET http://cluster/a": true, "HEAD http://cluster/a": true,
		"PATCH http://cluster/a?dryRun=All": true, "POST http://cluster/a?dryRun=All&x=y": true, "PUT http://cluster/a?dryRun=All": true,
		"PATCH http://cluster/a": false, "POST http://cluster/a?dryRun=": false, "PUT http://cluster/a?dryRun=None": false,
		"POST http://cluster/a?dryRun=All&dryRun=None": false, "POST http://cluster/a#dryRun=All": false,
		"DELETE http://cluster/a": false, "DELETE http://cluster/a?dryRun=All": false, "CONNECT http://cluster/a?dryRun=All": false,
	} {
		method, url, _ := strings.Cut(request, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		sent := false
		transport := ReadOnly(roundTripper(func(*http.Request) (*http.Response, error) {
			sent = true
			return &http.Response{Body: http.NoBody}, nil
		}))
		resp, err := transport.RoundTrip(req)
		if sent != want || (err == nil) != want {
			t.Errorf("%s: sent %t, error %v", request, sent, err)
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestLookups: templates read as the given user, or find no object, of which there is a warning.
func TestLookups(t *testing.T) {
	w := newWorld(t)
	w.archive = pack(t, map[string]string{
		"templates/all.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {found: {{ lookup \"v1\" \"ConfigMap\" \"prod\" \"treasure\" | len | quote }}}\n",
	})
	workers := worker.Local{Handler: handler.New()}
	w.differ = New(Options{Charts: Store(w.given.Before(nil), workers), Workers: workers, Now: time.Now})
	w.Store("/api/v1/namespaces/prod/configmaps/treasure", map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "treasure", "namespace": "prod"}})
	for name, tc := range map[string]struct {
		lookups Lookups
		found   bool
	}{"Own": {Lookups{}, true}, "Denied": {Lookups{Denied: "you may not"}, false}} {
		q := w.query()
		q.Lookups = tc.lookups
		d, err := w.differ.Desired(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(d.Objects[0].Lines, "\n")
		if strings.Contains(text, `found: "0"`) == tc.found {
			t.Errorf("%s: %s", name, text)
		}
		if warned := slices.Contains(d.Warnings, "the chart looks up objects, and found none: you may not"); warned == tc.found {
			t.Errorf("%s: warnings %q", name, d.Warnings)
		}
	}
	failing := &reads{Lookups: Lookups{Denied: "you may not"}}
	failing.missed.Store(true)
	if err := failing.explain(errors.New("nil pointer")); err == nil || err.Error() != "nil pointer; the chart looks up objects, and found none: you may not" {
		t.Errorf("%v", err)
	}
	r := &reads{Lookups: Lookups{User: "system:serviceaccount:prod:web"}}
	config := w.Config()
	if got := r.connection(config).Impersonate.UserName; got != r.User || config.Impersonate.UserName != "" {
		t.Errorf("templates read as %q, and others as %q", got, config.Impersonate.UserName)
	}
	for path, is := range map[string]bool{
		"/api/v1": true, "/apis/apps/v1": true, "/api/v1/secrets": false, "/apis/apps/v1/deployments": false,
		"/api/v1/namespaces/api/secrets": false, "/api/v1/namespaces/prod/secrets/x": false, "/apis/g/v1/namespaces/n/k/x": false,
	} {
		if listsAPIs(path) != is {
			t.Errorf("%s lists APIs: %t", path, !is)
		}
	}
}
