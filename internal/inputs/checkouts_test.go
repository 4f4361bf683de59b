// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// checkedOut returns a directory with files that have their path as a key, and with files of patterns.
func checkedOut(t *testing.T, paths []string, ignore map[string]string) *os.Root {
	t.Helper()
	files := map[string]string{}
	maps.Copy(files, ignore)
	for _, path := range paths {
		files[path] = path + ": 1\n"
	}
	dir := t.TempDir()
	for path, content := range files {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// TestCheckouts: of a directory, the files are used that source-controller puts into the artifact of the
// source.
func TestCheckouts(t *testing.T) {
	t.Parallel()
	// The last two are left out by default, and the first one always, unless the source is a Bucket.
	paths := []string{".gitmodules/x.yaml", "e/a.yaml", "e/b.yaml", "f/a.yaml", ".github/ci.yaml", "f/.sops.yaml"}
	meta := metav1.ObjectMeta{Namespace: "prod", Name: "config"}
	repository := func(ignore string) client.Object {
		return &sourcev1.GitRepository{ObjectMeta: meta, Spec: sourcev1.GitRepositorySpec{Ignore: &ignore}}
	}
	bucket := func(ignore *string) client.Object {
		return &sourcev1.Bucket{ObjectMeta: meta, Spec: sourcev1.BucketSpec{Ignore: ignore}}
	}
	image := func(operation string, ignore *string) client.Object {
		return &sourcev1.OCIRepository{ObjectMeta: meta, Spec: sourcev1.OCIRepositorySpec{Ignore: ignore, LayerSelector: &sourcev1.OCILayerSelector{Operation: operation}}}
	}
	const all = ".github/ci.yaml .gitmodules/x.yaml e/a.yaml e/b.yaml f/.sops.yaml f/a.yaml"
	for name, tc := range map[string]struct {
		kind   string
		source client.Object
		ignore map[string]string
		want   string
	}{
		"Default":    {want: "e/a.yaml e/b.yaml f/a.yaml"},
		"File":       {ignore: map[string]string{".sourceignore": "# a comment\n\ne/b.yaml\n"}, want: ".github/ci.yaml e/a.yaml f/.sops.yaml f/a.yaml"},
		"Nested":     {ignore: map[string]string{"e/.sourceignore": "a.yaml\n"}, want: ".github/ci.yaml e/b.yaml f/.sops.yaml f/a.yaml"},
		"NestedLast": {ignore: map[string]string{".sourceignore": "a.yaml\n", "e/.sourceignore": "!a.yaml\n"}, want: ".github/ci.yaml e/a.yaml e/b.yaml f/.sops.yaml"},
		"Included":   {ignore: map[string]string{".sourceignore": "/*\n!/e/a.yaml\n"}, want: "e/a.yaml"},
		"Spec":       {source: repository("/e/\n"), want: ".github/ci.yaml f/.sops.yaml f/a.yaml"},
		"SpecLast":   {source: repository("!b.yaml\n"), ignore: map[string]string{".sourceignore": "/e/\n.*\n"}, want: "e/b.yaml f/a.yaml"},
		"SpecEmpty":  {source: repository(""), want: "e/a.yaml e/b.yaml f/a.yaml"},
		"Directory":  {ignore: map[string]string{".sourceignore/x": ""}, want: "e/a.yaml e/b.yaml f/a.yaml"},

		"OCI":        {kind: helmv2.KindOCIRepository, ignore: map[string]string{"e/.sourceignore": "a.yaml"}, source: image(sourcev1.OCILayerExtract, new("/f/")), want: ".github/ci.yaml e/b.yaml"},
		"OCIDefault": {kind: helmv2.KindOCIRepository, want: "e/a.yaml e/b.yaml f/a.yaml"},
		"OCICopy":    {kind: helmv2.KindOCIRepository, ignore: map[string]string{".sourceignore": "a.yaml"}, source: image(sourcev1.OCILayerCopy, new("/f/")), want: all},

		"Bucket":       {kind: helmv2.KindBucket, source: bucket(new("/f/a.yaml")), ignore: map[string]string{".sourceignore": "/e/a.yaml"}, want: ".github/ci.yaml .gitmodules/x.yaml e/b.yaml f/.sops.yaml"},
		"BucketNested": {kind: helmv2.KindBucket, source: bucket(nil), ignore: map[string]string{"e/.sourceignore": "a.yaml"}, want: all},

		"External": {kind: helmv2.KindExternalArtifact, ignore: map[string]string{".sourceignore": "a.yaml"}, want: all},
	} {
		var objects []client.Object
		if tc.source != nil {
			objects = append(objects, tc.source)
		}
		reads := reader(t, objects...)
		r := NewResolver(reads, reads, nil).WithSettings(Settings{ExternalArtifacts: true}).WithCheckouts(Checkouts{{Namespace: "prod", Name: "config"}: checkedOut(t, paths, tc.ignore)})
		want, err := r.Values(t.Context(), withRefs(fileOf("*/*.yaml", func(ref *helmv2.ValuesReference) {
			if tc.kind != "" {
				ref.Kind = tc.kind
			}
		})))
		if got := strings.Join(slices.Sorted(maps.Keys(want.Values)), " "); err != nil || got != tc.want {
			t.Errorf("%s: %s, error %v, want %s", name, got, err, tc.want)
		}
	}
}

// TestCheckoutOfIgnoreFile: .sourceignore is in artifacts, except of a Bucket.
func TestCheckoutOfIgnoreFile(t *testing.T) {
	t.Parallel()
	root := checkedOut(t, nil, map[string]string{".sourceignore": "a: 1\n"})
	for kind, want := range map[string]string{helmv2.KindGitRepository: "map[a:1]", helmv2.KindBucket: "map[]"} {
		reads := reader(t)
		got, err := NewResolver(reads, reads, nil).WithCheckouts(Checkouts{{Namespace: "prod", Name: "config"}: root}).
			Values(t.Context(), withRefs(fileOf(".sourceignore", func(ref *helmv2.ValuesReference) { ref.Kind, ref.Optional = kind, true })))
		if err != nil || fmt.Sprint(got.Values) != want {
			t.Errorf("%s: %v, error %v", kind, got.Values, err)
		}
	}
}

// TestCheckoutErrors: a file that is not in the directory is an error with the reason. The source need not
// exist, but must be readable if it does.
func TestCheckoutErrors(t *testing.T) {
	t.Parallel()
	unresolved := "could not resolve GitRepository chart values reference 'prod/config' with key 'e/a.yaml' in revision 'local': "
	kind := schema.GroupKind{Group: sourcev1.GroupVersion.Group, Kind: helmv2.KindGitRepository}
	outside := checkedOut(t, nil, map[string]string{"patterns": "x"})
	for name, tc := range map[string]struct {
		ignore   string
		link     bool
		optional bool
		err      error
		want     string
	}{
		"Ignored":     {ignore: "e/", want: unresolved + "the directory has no such file, or .sourceignore or spec.ignore of the source leaves it out"},
		"Optional":    {ignore: "e/", optional: true},
		"LinkOutside": {link: true, want: ".sourceignore in "},
		"NoKind":      {err: &apimeta.NoKindMatchError{GroupKind: kind}},
		"Forbidden":   {err: apierrors.NewForbidden(schema.GroupResource{Resource: "gitrepositories"}, "config", errors.New("no")), want: "could not get Source object GitRepository 'prod/config'"},
	} {
		ignore := map[string]string{}
		if tc.ignore != "" {
			ignore[".sourceignore"] = tc.ignore
		}
		root := checkedOut(t, []string{"e/a.yaml"}, ignore)
		if tc.link {
			if err := os.Symlink(filepath.Join(outside.Name(), "patterns"), filepath.Join(root.Name(), ".sourceignore")); err != nil {
				t.Fatal(err)
			}
		}
		reads := interceptor.NewClient(reader(t), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if tc.err != nil {
				return tc.err
			}
			return c.Get(ctx, key, obj, opts...)
		}})
		r := NewResolver(reads, reads, nil).WithCheckouts(Checkouts{types.NamespacedName{Namespace: "prod", Name: "config"}: root})
		_, err := r.Values(t.Context(), withRefs(fileOf("e/a.yaml", func(ref *helmv2.ValuesReference) { ref.Optional = tc.optional })))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestCheckedOutChart: a chart in a directory is packaged, unless source-controller keeps the archive that
// it has.
func TestCheckedOutChart(t *testing.T) {
	t.Parallel()
	root := checkedOut(t, nil, map[string]string{
		".sourceignore": "*.bak\n", "web/Chart.yaml": "{apiVersion: v2, name: web, version: 1.4.0}", "web/values.yaml": "a: 0", "web/x.bak": "x", "prod.yaml": "a: 1",
	})
	chart := func(edit ...func(*helmv2.HelmChartTemplateSpec)) *helmv2.HelmRelease {
		return app(func(hr *helmv2.HelmRelease) {
			hr.Spec.ChartRef = nil
			hr.Spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
				Chart: "./web", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: helmv2.KindGitRepository, Name: "config"},
			}}
			for _, e := range edit {
				e(&hr.Spec.Chart.Spec)
			}
		})
	}
	prod := func(spec *helmv2.HelmChartTemplateSpec) { spec.ValuesFiles = []string{"prod.yaml"} }
	revision := func(spec *helmv2.HelmChartTemplateSpec) { spec.ReconcileStrategy = helmv2.ReconcileStrategyRevision }
	helmRepository := func(spec *helmv2.HelmChartTemplateSpec) { spec.SourceRef.Kind = sourcev1.HelmRepositoryKind }
	// have is a HelmChart that was packaged as a version.
	have := func(hr *helmv2.HelmRelease, version string, edit ...func(*sourcev1.HelmChart)) client.Object {
		o, _ := TemplateSource(hr).(*sourcev1.HelmChart)
		o.Status = sourcev1.HelmChartStatus{ObservedChartName: "web", Artifact: &fluxmeta.Artifact{Revision: version}}
		for _, e := range edit {
			e(o)
		}
		return o
	}
	for name, tc := range map[string]struct {
		hr   *helmv2.HelmRelease
		live client.Object
		// want is whether the archive is kept; nil if the directory is not used.
		want *bool
	}{
		"New":            {hr: chart(), want: new(false)},
		"Kept":           {hr: chart(), live: have(chart(), "1.4.0"), want: new(true)},
		"OtherVersion":   {hr: chart(), live: have(chart(), "1.3.0"), want: new(false)},
		"OtherMetadata":  {hr: chart(), live: have(chart(), "1.4.0+1"), want: new(false)},
		"OtherName":      {hr: chart(), live: have(chart(), "1.4.0", func(o *sourcev1.HelmChart) { o.Status.ObservedChartName = "shop" }), want: new(false)},
		"OtherSpec":      {hr: chart(prod), live: have(chart(), "1.4.0"), want: new(false)},
		"NotObserved":    {hr: chart(), live: have(chart(), "1.4.0", func(o *sourcev1.HelmChart) { o.Generation = 1 }), want: new(false)},
		"NoArtifact":     {hr: chart(), live: have(chart(), "", func(o *sourcev1.HelmChart) { o.Status.Artifact = nil }), want: new(false)},
		"ValuesFiles":    {hr: chart(prod), live: have(chart(prod), "1.4.0+3"), want: new(true)},
		"Revision":       {hr: chart(revision), live: have(chart(revision), "1.4.0"), want: new(false)},
		"HelmRepository": {hr: chart(helmRepository)},
		"ChartRef":       {hr: app()},
	} {
		var objects []client.Object
		if tc.live != nil {
			objects = append(objects, tc.live)
		}
		reads := reader(t, objects...)
		got, err := NewResolver(reads, reads, nil).WithCheckouts(Checkouts{{Namespace: "prod", Name: "config"}: root}).CheckedOutChart(t.Context(), tc.hr)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case (got == nil) != (tc.want == nil) || got != nil && (got.Kept != *tc.want || got.Name != "web" || got.Version != "1.4.0"):
			t.Errorf("%s: %+v", name, got)
		}
	}
}
