// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/helmchart"
	"github.com/pintle-dev/pintle/internal/values"
	"github.com/pintle-dev/pintle/internal/view/read"
)

const ociChart = "oci://registry.example.com/charts/web"

// TestReleaseObjects: the objects of flags are the YAML in testdata/create, which has all that the
// objects have.
func TestReleaseObjects(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]releaseFlags{
		"plain":  {chart: ociChart, version: "1.4.0", wait: true},
		"build":  {chart: ociChart + "/", version: "v1.4.0+build.1", wait: true},
		"range":  {chart: ociChart, version: "1.x", wait: true},
		"newest": {chart: ociChart, version: "*", wait: true},
		"atomic": {chart: ociChart, version: "1.4.0", wait: true, atomic: true, timeout: 90 * time.Second},
		"repo":   {repo: "https://charts.example.com/stable/", chart: "web", version: "~1.4", wait: true},
		"nowait": {chart: ociChart, version: "1.4.0", targetNamespace: "shop", createNamespace: true},
		"values": {chart: ociChart, version: "1.4.0", wait: true, values: values.Flags{
			Files: []string{"testdata/create/values.yaml"}, Set: []string{"image.tag=v2,debug=true,replicas=3"}, SetString: []string{"build=0123"},
			SetJSON: []string{`hosts=["a","b"]`, "replicas=1"}, SetFile: []string{"source=testdata/create/bad.yaml"}, SetLiteral: []string{"list=a,b"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, hr, err := f.objects("apps", "web", os.ReadFile)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := text.Manifests[client.Object](&got, source, hr); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "create", name+".golden.yaml")
			if *rewrite {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || got.String() != string(want) {
				t.Errorf("%v: %s differs; -rewrite writes it. Got:\n%s", err, path, got.String())
			}
			for i, document := range strings.Split(got.String(), "\n---\n") {
				if want := []client.Object{source, hr}[i]; !equality.Semantic.DeepEqual(decoded(t, document), want) {
					t.Errorf("the YAML of %s has not all fields:\n%s", resourceOf(want), document)
				}
			}
		})
	}
}

// decoded returns the object of YAML.
func decoded(t *testing.T, document string) client.Object {
	t.Helper()
	scheme, err := read.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	object, _, err := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer().Decode([]byte(document), nil, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
	return object.(client.Object)
}

// TestCreateRelease: what --export prints is what is created without it.
func TestCreateRelease(t *testing.T) {
	w := newWorld(t, "create/objects.yaml")
	const shop = "create release shop --chart oci://registry.example.com/charts/shop --version 2.1.0 --atomic --timeout 10m --set replicas=3"
	w.golden("create", shop+" --export", shop,
		"create release cart --repo https://charts.example.com --chart cart --version 1.x -f testdata/create/values.yaml --wait=false")
	source, hr := &sourcev1.OCIRepository{}, &helmv2.HelmRelease{}
	for _, object := range []client.Object{source, hr} {
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "shop"}, object); err != nil {
			t.Fatal(err)
		}
		object.SetResourceVersion("")
	}
	w.client = nil
	w.run(append(strings.Fields(shop), "--export")...)
	documents := strings.Split(w.out.String(), "\n---\n")
	source.TypeMeta, hr.TypeMeta = decoded(t, documents[0]).(*sourcev1.OCIRepository).TypeMeta, decoded(t, documents[1]).(*helmv2.HelmRelease).TypeMeta
	if !equality.Semantic.DeepEqual(decoded(t, documents[0]), client.Object(source)) || !equality.Semantic.DeepEqual(decoded(t, documents[1]), client.Object(hr)) {
		t.Errorf("created were %+v and %+v, and printed was\n%s", source, hr, w.out.String())
	}
}

// TestCreateHelmChart: a HelmChart is created, and printed, in place of a release that the same flags
// create. Objects that are made for it must not exist, and policies hold.
func TestCreateHelmChart(t *testing.T) {
	w := newWorld(t, "create/objects.yaml")
	const shop = "create helmchart shop --chart oci://registry.example.com/charts/shop --version 2.1.0 --timeout 10m --wait --set replicas=3"
	const cart = "create hc cart --repo https://charts.example.com/ --chart cart --version 1.x -f testdata/create/values.yaml --target-namespace carts --create-namespace"
	w.golden("create-helmchart", shop+" --export", shop, shop, cart+" --export", "create hc web --chart oci://registry.example.com/charts/web --version 1.0.0",
		cart+" -n exact", cart+" -n exact --export")
	created := &cattlev1.HelmChart{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "shop"}, created); err != nil {
		t.Fatal(err)
	}
	created.ResourceVersion = ""
	w.client = nil
	w.run(append(strings.Fields(shop), "--export")...)
	printed := decoded(t, w.out.String()).(*cattlev1.HelmChart)
	printed.TypeMeta, created.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
	if !equality.Semantic.DeepEqual(printed, created) {
		t.Errorf("created was %+v, and printed was\n%s", created, w.out.String())
	}
}

// TestHelmChartOfFlags: the HelmChart of flags stands for the release of the same flags.
func TestHelmChartOfFlags(t *testing.T) {
	t.Parallel()
	for _, f := range []releaseFlags{
		{chart: ociChart, version: "1.4.0"},
		{chart: ociChart + "/", version: "v1.4.0+build.1", wait: true},
		{chart: ociChart, version: "1.x", targetNamespace: "shop", createNamespace: true},
		{repo: "https://charts.example.com/stable/", chart: "web", version: "~1.4", timeout: 90 * time.Second},
		{repo: "https://charts.example.com", chart: "web", version: "*", values: values.Flags{Set: []string{"a=1,b=true"}, SetString: []string{"c=007"}, SetLiteral: []string{"d=x: [y"}}},
	} {
		source, hr, err := f.objects("apps", "web", os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.helmChart(hr)
		if err != nil {
			t.Fatal(err)
		}
		got, refusal := helmchart.Translate(helmchart.Input{Chart: c, HasServiceAccount: true})
		if refusal != nil || !helmchart.Manages(c) {
			t.Fatalf("%+v is refused: %v", c, refusal)
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(source)
		if err != nil {
			t.Fatal(err)
		}
		want := fields["spec"].(map[string]any)
		want["interval"] = got.Source.Spec["interval"]
		if !equality.Semantic.DeepEqual(want, got.Source.Spec) {
			t.Errorf("the source is %v, not %v", got.Source.Spec, want)
		}
		spec, chart := got.Release.Spec, hr.Spec.Chart
		if chart != nil {
			chart.Spec.ReconcileStrategy = spec.Chart.Spec.ReconcileStrategy
		}
		if !equality.Semantic.DeepEqual(spec.Chart, chart) || !equality.Semantic.DeepEqual(spec.ChartRef, hr.Spec.ChartRef) ||
			spec.TargetNamespace != cmp.Or(f.targetNamespace, "apps") || spec.Install.CreateNamespace != f.createNamespace || spec.Install.DisableWait == f.wait ||
			!equality.Semantic.DeepEqual(spec.Timeout, hr.Spec.Timeout) {
			t.Errorf("the HelmRelease is %+v, not %+v", spec, hr.Spec)
		}
		if hr.Spec.Values == nil {
			continue
		}
		content, err := yaml.YAMLToJSON([]byte(c.Spec.ValuesContent))
		if err != nil || string(content) != string(hr.Spec.Values.Raw) {
			t.Errorf("%v: values are %s, not %s", err, content, hr.Spec.Values.Raw)
		}
	}
}

// TestCreateReleaseErrors: arguments without a meaning, and values that cannot be read, are refused.
func TestCreateReleaseErrors(t *testing.T) {
	w := newWorld(t, "create/objects.yaml")
	const shop = "create release shop --chart oci://registry.example.com/charts/shop "
	w.golden("create-errors",
		"create chart", "create helmchart", "create helmchart shop --chart oci://registry.example.com/charts/shop --version 1.0.0 --atomic",
		"create helmchart shop --repo https://user:secret@charts.example.com --chart shop --version 1.0.0", "create release", "create release Shop --chart shop --version 1.0.0",
		shop, shop+"--version newest", shop+"--version 1.0.0 --atomic --wait=false", shop+"--version 1.0.0 --timeout -5s", shop+"--version 1.0.0 --create-namespace",
		shop+"--version 1.0.0 --target-namespace a.b",
		"create release shop --version 1.0.0", "create release shop --chart stable/shop --version 1.0.0", "create release shop --chart ./shop-1.0.0.tgz --version 1.0.0",
		"create release shop --chart oci://registry.example.com/charts/shop:1.0.0 --version 1.0.0",
		"create release shop --chart oci://user:secret@registry.example.com/charts/shop --version 1.0.0",
		"create release shop --repo https://user:secret@charts.example.com --chart shop --version 1.0.0",
		"create release shop --repo charts.example.com --chart shop --version 1.0.0", "create release shop --repo https://charts.example.com --chart a/shop --version 1.0.0",
		shop+"--version 1.0.0 -f testdata/create/bad.yaml", shop+"--version 1.0.0 -f testdata/create/list.yaml", shop+"--version 1.0.0 -f testdata/create/missing.yaml",
		shop+"--version 1.0.0 -f https://example.com/values.yaml", shop+"--version 1.0.0 --set a", shop+"--version 1.0.0 --set-json a={",
	)
	if list := (&sourcev1.OCIRepositoryList{}); w.client.List(t.Context(), list) != nil || len(list.Items) > 0 {
		t.Errorf("created were %v", list.Items)
	}
}

// TestCreateReleaseTaken: neither the release nor the source of another one is replaced.
func TestCreateReleaseTaken(t *testing.T) {
	w := newWorld(t, "create/objects.yaml")
	w.golden("create-taken",
		"create release web --chart oci://registry.example.com/charts/web --version 1.4.0 --export",
		"create release charts --repo https://other.example.com --chart charts --version 1.4.0")
}

// TestCreateReleasePolicies: a chart that a policy refuses is not created. An export that a user can
// complete is printed.
func TestCreateReleasePolicies(t *testing.T) {
	w := newWorld(t, "create/objects.yaml")
	const oci, repo = "create release shop --chart oci://registry.example.com/charts/shop ", "create release shop --repo https://charts.example.com --chart shop "
	w.golden("create-policies",
		oci+"--version 1.x -n exact", oci+"--version 1.x -n exact --export", repo+"--version * -n exact", repo+"--version 1.2 -n exact",
		oci+"--version 1.x -n verified --export", oci+"--version 1.0.0 -n verified", oci+"--version 1.0.0 -n verified --export",
		repo+"--version v1.0.0 -n exact --export",
		oci+"--version 1.0.0 -n plain --set auth.password=hunter2", oci+"--version 1.0.0 -n plain --set auth.password=hunter2 --export")
	w = newWorld(t, "create/objects.yaml")
	w.forbidden["ReleasePolicy"] = true
	w.golden("create-forbidden", oci+"--version 1.0.0 -n exact --export", oci+"--version 1.x -n exact")
	w.forbidden["Namespace"] = true
	w.golden("create-unknown", oci+"--version 1.x -n exact --export")
}

// TestCreateReleaseDenied: a release that the API server refuses leaves no source behind.
func TestCreateReleaseDenied(t *testing.T) {
	w := newWorld(t, "create/objects.yaml")
	w.uncreated = func(object client.Object) error {
		if _, is := object.(*helmv2.HelmRelease); is {
			return errors.New("the admission policy denies it")
		}
		return nil
	}
	w.golden("create-denied", "create release shop --chart oci://registry.example.com/charts/shop --version 1.0.0")
	if list := (&sourcev1.OCIRepositoryList{}); w.client.List(t.Context(), list) != nil || len(list.Items) > 0 {
		t.Errorf("created were %v", list.Items)
	}
}

// TestCreateReleaseOffline: an export needs no cluster, and says what was not asked.
func TestCreateReleaseOffline(t *testing.T) {
	w := newWorld(t, "create/objects.yaml")
	w.unread = func() error { return errors.New("connection refused") }
	w.golden("create-offline", "create release shop --chart oci://registry.example.com/charts/shop --version 1.x --export",
		"create release shop --chart oci://registry.example.com/charts/shop --version 1.x")
}

// TestHelmFlags: the table in docs/running.md has each flag of the command that helm has, its fields
// exist, and the command sets one of them.
func TestHelmFlags(t *testing.T) {
	raw, err := os.ReadFile("../../docs/running.md")
	if err != nil {
		t.Fatal(err)
	}
	// examples are arguments for the flags of helm.
	const oci, repo = "--chart oci://registry.example.com/charts/web --version 1.x ", "--repo https://charts.example.com --chart web --version 1.x "
	examples := map[string]string{
		"version": oci, "repo": repo, "atomic": oci + "--atomic", "wait": oci + "--wait=false", "timeout": oci + "--timeout 1m", "values": oci + "-f testdata/create/values.yaml",
		"set": oci + "--set a=b", "set-string": oci + "--set-string a=b", "set-json": oci + "--set-json a=1", "set-file": oci + "--set-file a=testdata/create/values.yaml",
		"set-literal": oci + "--set-literal a=b", "create-namespace": oci + "--target-namespace shop --create-namespace",
	}
	cmd, _, err := Command(&Session{}).Find([]string{"create", "release"})
	if err != nil {
		t.Fatal(err)
	}
	chart, _, err := Command(&Session{}).Find([]string{"create", "helmchart"})
	if err != nil {
		t.Fatal(err)
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if chart.LocalNonPersistentFlags().Lookup(f.Name) == nil {
			t.Errorf("create helmchart has no --%s", f.Name)
		}
		// Others than these are flags of helm.
		if examples[f.Name] == "" && f.Name != "chart" && f.Name != "target-namespace" && f.Name != "export" {
			t.Errorf("--%s has no example", f.Name)
		}
	})
	_, section, _ := strings.Cut(string(raw), "\n## From the flags of helm\n")
	flag, field := regexp.MustCompile("`--([a-z-]+)`"), regexp.MustCompile("`(?:([A-Z]\\w+)\\.)?spec\\.([\\w.]+)[^`]*`")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 {
			continue
		}
		cells = cells[1:]
		var paths []string
		for _, match := range field.FindAllStringSubmatch(cells[1]+cells[2], -1) {
			kind := map[string]any{
				"": helmv2.HelmReleaseSpec{}, "OCIRepository": sourcev1.OCIRepositorySpec{}, "HelmRepository": sourcev1.HelmRepositorySpec{}, "HelmChart": cattlev1.HelmChartSpec{},
			}[match[1]]
			if kind == nil || !hasField(reflect.TypeOf(kind), strings.Split(match[2], ".")) {
				t.Errorf("no object has the field %s", match[0])
			}
			paths = append(paths, match[1]+"."+match[2])
		}
		for _, match := range flag.FindAllStringSubmatch(cells[0], -1) {
			name := match[1]
			example, has := examples[name]
			delete(examples, name)
			if has != (strings.TrimSpace(cells[3]) == "yes") {
				t.Errorf("--%s: create release has it: %t, and the table says %q", name, has, cells[3])
			}
			if !has {
				continue
			}
			w := newWorld(t, "")
			w.run(append([]string{"create", "release", "web", "--export"}, strings.Fields(example)...)...)
			sets := func(isHelmChart bool) bool {
				return slices.ContainsFunc(paths, func(path string) bool {
					kind, path, _ := strings.Cut(path, ".")
					return (kind == cattlev1.HelmChartKind) == isHelmChart && isSet(t, w.out.String(), strings.Split(path, "."))
				})
			}
			if !sets(false) {
				t.Errorf("--%s sets none of the fields %v:\n%s%s", name, paths, w.out.String(), w.err.String())
			}
			w.run(append([]string{"create", "helmchart", "web", "--export"}, strings.Fields(example)...)...)
			if name != "atomic" && name != "wait" && !sets(true) {
				t.Errorf("--%s sets none of the fields of a HelmChart %v:\n%s%s", name, paths, w.out.String(), w.err.String())
			}
		}
	}
	for name := range examples {
		t.Errorf("the table lacks --%s", name)
	}
}

// hasField reports whether a type has a field at a path in JSON.
func hasField(of reflect.Type, path []string) bool {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if len(path) == 0 {
		return true
	}
	if of.Kind() != reflect.Struct {
		return false
	}
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name == path[0] {
			return hasField(of.Field(i).Type, path[1:])
		}
	}
	return false
}

// isSet reports whether one of the objects in YAML has a field.
func isSet(t *testing.T, documents string, path []string) bool {
	t.Helper()
	for document := range strings.SplitSeq(documents, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if _, found, _ := unstructured.NestedFieldNoCopy(object, append([]string{"spec"}, path...)...); found {
			return true
		}
	}
	return false
}
