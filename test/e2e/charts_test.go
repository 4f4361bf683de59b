// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"crypto/md5" // #nosec G501 -- the ETag of S3
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// umbrella are the files of a chart with a library, and an application as dependency in all ways.
var umbrella = map[string]string{
	"charts/umbrella/Chart.yaml": `
apiVersion: v2
name: umbrella
version: 1.0.0
dependencies:
- {name: library, version: 1.0.0}
- {name: app, version: 1.0.0, condition: "app.enabled", import-values: [data]}
- {name: app, version: 1.0.0, alias: second, import-values: [{child: settings, parent: imported}]}
- {name: app, version: 1.0.0, alias: disabled, condition: "disabled.enabled"}
- {name: app, version: 1.0.0, alias: tagged, tags: [extra]}
- {name: app, version: 1.0.0, alias: untagged, tags: [rare]}
- {name: app, version: 1.0.0, alias: both, tags: [rare], condition: "both.enabled"}
`,
	"charts/umbrella/values.yaml": `
app: {enabled: true, message: default}
second: {message: default}
disabled: {enabled: true}
both: {enabled: true}
tags: {extra: false, rare: true}
`,
	"charts/umbrella/production.yaml": `
second: {message: production}
disabled: {enabled: false}
tags: {extra: true, rare: false}
`,
	"charts/umbrella/templates/all.yaml": `{{ include "library.card" (dict "name" .Release.Name "data" (dict "color" .Values.color "size" .Values.imported.size)) }}`,

	"charts/umbrella/charts/library/Chart.yaml": "{apiVersion: v2, name: library, version: 1.0.0, type: library}",
	"charts/umbrella/charts/library/templates/_card.tpl": `
{{- define "library.card" }}
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .name }}}
data: {{ toJson .data }}
{{- end }}`,
	".sourceignore":                  "*.bak\n",
	"charts/umbrella/.helmignore":    "notes/\n",
	"charts/umbrella/notes/todo.txt": "left out by Helm",
	"charts/umbrella/values.bak":     "left out by source-controller",
	"charts/umbrella/files/kept.txt": "kept",
	// Templates of a library that have no names of their own render nothing.
	"charts/umbrella/charts/library/templates/card.yaml": `{{ fail "a library is not rendered" }}`,

	"charts/umbrella/charts/app/Chart.yaml":           "{apiVersion: v2, name: app, version: 1.0.0}",
	"charts/umbrella/charts/app/values.yaml":          "{message: none, exports: {data: {color: blue}}, settings: {size: large}}",
	"charts/umbrella/charts/app/templates/cards.yaml": `{{ include "library.card" (dict "name" (printf "%s-%s" .Release.Name .Chart.Name) "data" (dict "message" .Values.message)) }}`,
}

// TestUmbrella: a chart from a Bucket with values files, a library chart, and dependencies with
// conditions, tags, aliases and imported values.
func TestUmbrella(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := httptest.NewServer(bucket(umbrella))
	t.Cleanup(server.Close)
	hr := w.Draft("shop", w.chartOf(sourcev1.BucketKind, "bucket", "./charts/umbrella"), values{"app": values{"message": "inline"}})
	hr.Spec.Chart.Spec.ValuesFiles = []string{"./charts/umbrella/values.yaml", "./charts/umbrella/production.yaml"}
	w.Create(&sourcev1.Bucket{
		ObjectMeta: w.Meta("bucket"),
		Spec: sourcev1.BucketSpec{
			Provider: sourcev1.BucketProviderGeneric, BucketName: bucketName, Endpoint: server.Listener.Addr().String(), Insecure: true,
			Interval: metav1.Duration{Duration: time.Hour},
		},
	}, hr)
	w.UntilRevision(hr, 1)
	got := map[string]map[string]string{}
	var all corev1.ConfigMapList
	w.Must(env.Client.List(t.Context(), &all, client.InNamespace(w.Namespace)))
	for _, cm := range all.Items {
		if strings.HasPrefix(cm.Name, hr.Name) {
			got[cm.Name] = cm.Data
		}
	}
	w.equal("ConfigMaps", got, map[string]map[string]string{
		"shop":        {"color": "blue", "size": "large"},
		"shop-app":    {"message": "inline"},
		"shop-second": {"message": "production"},
		"shop-tagged": {"message": "none"},
		// A condition has precedence over tags.
		"shop-both": {"message": "none"},
	})
	w.packaged(hr, umbrella)
}

// packaged checks that diff packages the chart of a directory as source-controller does.
func (w world) packaged(hr *helmv2.HelmRelease, files map[string]string) {
	w.Helper()
	key := types.NamespacedName{Namespace: w.Namespace, Name: hr.Spec.Chart.Spec.SourceRef.Name}
	r := inputs.NewResolver(env.Client, env.Client, nil).WithCheckouts(inputs.Checkouts{key: w.directory(files)})
	got, err := r.CheckedOutChart(w.Context(), hr)
	w.Must(err)
	live := &sourcev1.HelmChart{}
	w.Get(hr.GetHelmChartName(), live)
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, live.Status.Artifact.URL, http.NoBody)
	w.Must(err)
	resp, err := http.DefaultClient.Do(req)
	w.Must(err)
	theirs, err := loader.LoadArchive(resp.Body)
	w.Must(errors.Join(err, resp.Body.Close()))
	ours, err := loader.LoadArchive(bytes.NewReader(got.Archive))
	w.Must(err)
	// source-controller adds the generation of the HelmChart to the version.
	w.equal("kept", []any{got.Kept, live.Status.Artifact.Revision}, []any{true, got.Version + "+1"})
	w.equal("the chart", contentsOf(ours), contentsOf(theirs))
	// source-controller also adds a copy of a dependency for each alias.
	for _, d := range ours.Dependencies() {
		i := slices.IndexFunc(theirs.Dependencies(), func(their *helmchart.Chart) bool { return their.Name() == d.Name() })
		w.equal(d.Name(), contentsOf(d), contentsOf(theirs.Dependencies()[i]))
	}
}

// contentsOf returns the values, templates and files of a chart as a text.
func contentsOf(c *helmchart.Chart) string {
	all := []string{fmt.Sprint(c.ChartFullPath(), " ", c.Values)}
	for _, f := range slices.Concat(c.Templates, c.Files) {
		all = append(all, c.ChartFullPath()+"/"+f.Name+" "+string(f.Data))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// directory returns a directory with files.
func (w world) directory(files map[string]string) *os.Root {
	w.Helper()
	root, err := os.OpenRoot(w.TempDir())
	w.Must(err)
	w.Cleanup(func() { _ = root.Close() })
	for name, content := range files {
		w.Must(root.MkdirAll(path.Dir(name), 0o700))
		w.Must(root.WriteFile(name, []byte(content), 0o600))
	}
	return root
}

// bucketName is the only bucket of the server.
const bucketName = "charts"

// bucket serves files by the requests of S3 that source-controller sends.
func bucket(files map[string]string) http.Handler {
	const space = "http://s3.amazonaws.com/doc/2006-03-01/"
	etag := func(content string) string { return fmt.Sprintf(`"%x"`, md5.Sum([]byte(content))) } // #nosec G401
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		key, found := strings.CutPrefix(req.URL.Path, "/"+bucketName+"/")
		content, exists := files[key]
		switch {
		case found && exists:
			rw.Header().Set("ETag", etag(content))
			http.ServeContent(rw, req, key, time.Unix(1, 0), strings.NewReader(content))
		case !found || key != "":
			rw.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(rw, "<Error><Code>NoSuchKey</Code></Error>")
		case req.URL.Query().Has("location"):
			_, _ = fmt.Fprintf(rw, "<LocationConstraint xmlns=%q/>", space)
		default:
			_, _ = fmt.Fprintf(rw, "<ListBucketResult xmlns=%q>", space)
			for key, content := range files {
				_, _ = fmt.Fprintf(rw, "<Contents><Key>%s</Key><ETag>%s</ETag><Size>%d</Size></Contents>", key, etag(content), len(content))
			}
			_, _ = fmt.Fprint(rw, "</ListBucketResult>")
		}
	})
}
