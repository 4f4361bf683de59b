// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/values"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name}, Data: data}
}

func secret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

// from returns a reference to a ConfigMap.
func from(name, key, path string) helmv2.ValuesReference {
	return helmv2.ValuesReference{Kind: helmv2.KindConfigMap, Name: name, ValuesKey: key, TargetPath: path}
}

func inline(hr *helmv2.HelmRelease, values string) {
	hr.Spec.Values = nil
	if values != "" {
		hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(values)}
	}
}

// counting returns a reader that counts its reads.
func counting(t *testing.T, reads *int, objects ...client.Object) client.Reader {
	return interceptor.NewClient(reader(t, objects...), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			*reads++
			return c.Get(ctx, key, obj, opts...)
		},
	})
}

// part is a reference and its content.
type part struct{ path, content string }

func literally(path, content string) part { return part{"literal:" + path, content} }

func (p part) reference() reference {
	path, literal := strings.CutPrefix(p.path, "literal:")
	return reference{
		ValuesReference: helmv2.ValuesReference{Kind: helmv2.KindSecret, Name: "s", TargetPath: path, Literal: literal},
		namespace:       "prod", content: p.content,
	}
}

// TestComposeOrder: references at the root come first, then inline values, then target paths.
func TestComposeOrder(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		parts  []part
		inline string
		want   string
	}{
		"Nothing":          {reason: "no values are an empty map", want: `{}`},
		"OneRoot":          {reason: "a map at the root", parts: []part{{"", "a: 1"}}, want: `a: 1`},
		"LaterRootWins":    {reason: "later references win", parts: []part{{"", "a: 1\nb: 1"}, {"", "b: 2\nc: 2"}}, want: `{a: 1, b: 2, c: 2}`},
		"MapsMerge":        {reason: "maps are merged at every depth", parts: []part{{"", "m: {n: {a: 1, b: 1}}"}, {"", "m: {n: {b: 2}, o: 2}"}}, want: `m: {n: {a: 1, b: 2}, o: 2}`},
		"ListsReplace":     {reason: "lists are not merged", parts: []part{{"", "l: [1, 2, 3]"}, {"", "l: [4]"}}, want: `l: [4]`},
		"MapOverScalar":    {reason: "a scalar is replaced by a map", parts: []part{{"", "a: 1"}, {"", "a: {b: 1}"}}, want: `a: {b: 1}`},
		"ScalarOverMap":    {reason: "a map is replaced by a scalar", parts: []part{{"", "a: {b: 1}"}, {"", "a: 1"}}, want: `a: 1`},
		"NullIsKept":       {reason: "null is a value: Helm deletes the chart's default for it", parts: []part{{"", "a: {b: 1}"}, {"", "a: null"}}, want: `a: null`},
		"NullWithin":       {reason: "at every depth", parts: []part{{"", "a: {b: 1, c: 1}"}, {"", "a: {b: null}"}}, want: `a: {b: null, c: 1}`},
		"MapOverNull":      {reason: "null can be replaced again", parts: []part{{"", "a: null"}, {"", "a: {b: 1}"}}, want: `a: {b: 1}`},
		"SameRootTwice":    {reason: "a reference may be repeated", parts: []part{{"", "m: {a: 1}\ns: 1"}, {"", "m: {a: 2, b: 2}\ns: {t: 2}"}, {"", "m: {a: 1}\ns: 1"}}, want: `{m: {a: 1, b: 2}, s: 1}`},
		"InlineOverRoot":   {reason: "inline values beat root references", parts: []part{{"", "m: {a: 1, b: 1}\nl: [1]"}}, inline: `{"m":{"b":2},"l":[]}`, want: `{m: {a: 1, b: 2}, l: []}`},
		"InlineNull":       {reason: "with null too", parts: []part{{"", "m: {a: 1}"}}, inline: `{"m":null}`, want: `m: null`},
		"InlineAlone":      {reason: "inline values alone", inline: `{"a":{"b":[1]}}`, want: `a: {b: [1]}`},
		"EmptyContent":     {reason: "empty content changes nothing", parts: []part{{"", ""}, {"", "# none\n"}, {"", "null"}}, inline: `{"a":1}`, want: `a: 1`},
		"PathOverRoot":     {reason: "a path beats root references, later ones too", parts: []part{{"a.b", "2"}, {"", "a: {b: 1, c: 1}"}}, want: `a: {b: 2, c: 1}`},
		"PathAlone":        {reason: "a path makes its parents", parts: []part{{"a.b.c", "x"}}, want: `a: {b: {c: x}}`},
		"PathBesideInline": {reason: "a path that inline values do not have", parts: []part{{"a.c", "2"}}, inline: `{"a":{"b":1}}`, want: `a: {b: 1, c: 2}`},

		// helm-controller lets the inline values win in these cases.
		"TopLevelPathOverInline":   {reason: "a path at the top beats inline values", parts: []part{{"a", "2"}}, inline: `{"a":1}`, want: `a: 2`},
		"NestedPathOverInline":     {reason: "so does a nested path", parts: []part{{"a.b", "2"}}, inline: `{"a":{"b":1}}`, want: `a: {b: 2}`},
		"TwoPathsUnderOneParent":   {reason: "so does a second path beside it", parts: []part{{"a.b", "2"}, {"a.c", "2"}}, inline: `{"a":{"b":1,"c":1}}`, want: `a: {b: 2, c: 2}`},
		"ParentFromEarlierRef":     {reason: "so does a path below a map from a reference", parts: []part{{"", "a: {z: 0}"}, {"a.b", "2"}}, inline: `{"a":{"b":1}}`, want: `a: {b: 2, z: 0}`},
		"RootBetweenPaths":         {reason: "so does a path before a root reference", parts: []part{{"a.b", "2"}, {"", "a: {c: 0}"}, {"a.c", "2"}}, inline: `{"a":{"b":1,"c":1}}`, want: `a: {b: 2, c: 2}`},
		"LaterPathWins":            {reason: "of two paths the later wins", parts: []part{{"a", "1"}, {"a", "2"}}, want: `a: 2`},
		"PathIntoPath":             {reason: "a path may change the value that another path has set", parts: []part{{"a", "{x,y}"}, {"a[1]", "z"}}, want: `a: [x, z]`},
		"PathOverMapReplaces":      {reason: "a path replaces a whole map", parts: []part{{"a", "1"}}, inline: `{"a":{"b":1}}`, want: `a: 1`},
		"NullByPath":               {reason: "a path can set null", parts: []part{{"a.b", "null"}}, inline: `{"a":{"b":1}}`, want: `a: {b: null}`},
		"ListItemOfInline":         {reason: "an item of an inline list", parts: []part{{"l[1]", "x"}}, inline: `{"l":["a","b","c"]}`, want: `l: [a, x, c]`},
		"LiteralIsNoRootReference": {reason: "literal has no effect without a target path", parts: []part{literally("", "a: 1")}, want: `a: 1`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, tc.reason, tc.parts, tc.inline, tc.want)
		})
	}
}

// TestLayers: layers are in the order of their precedence, and have the names of their objects.
func TestLayers(t *testing.T) {
	t.Parallel()
	named := func(kind, name, path, content string) reference {
		ref := part{path, content}.reference()
		ref.Kind, ref.Name = kind, name
		return ref
	}
	refs := []reference{
		named(helmv2.KindSecret, "path", "image.tag", "5"), named(helmv2.KindConfigMap, "base", "", "image: {tag: 1, name: web}"),
		named(helmv2.KindConfigMap, "bad", "", "["), named(helmv2.KindSecret, "over", "", "a: 1"), named(helmv2.KindSecret, "literal", "literal:b", "{x"),
	}
	refs[3].ValuesKey = "HelmChart.spec.values"
	got := layers(refs, []byte(`{"image":{"tag":2}}`))
	want := []plan.Layer{
		{Name: "ConfigMap/base", File: "values.yaml", Values: map[string]any{"image": map[string]any{"tag": 1.0, "name": "web"}}},
		{Name: "ConfigMap/bad", File: "values.yaml"},
		{Name: "Secret/over", File: "HelmChart.spec.values", Values: map[string]any{"a": 1.0}},
		{Name: "inline", Values: map[string]any{"image": map[string]any{"tag": 2.0}}},
		{Name: "Secret/path", File: "values.yaml", Values: map[string]any{"image": map[string]any{"tag": int64(5)}}},
		{Name: "Secret/literal", File: "values.yaml", Values: map[string]any{"b": "{x"}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(plan.Layer{}, "Lines")); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
}

// randomDocument returns a YAML map with one key per line, and the lines of its leaves by their path.
func randomDocument(r *rand.Rand) (content string, lines map[string]int) {
	var text strings.Builder
	lines = map[string]int{}
	line := 0
	var write func(depth int, path string)
	write = func(depth int, path string) {
		keys := r.Perm(4)
		for _, k := range keys[:1+r.IntN(3)] {
			key := string(rune('a' + k))
			line++
			text.WriteString(strings.Repeat("  ", depth) + key + ":")
			if depth < 2 && r.IntN(2) == 0 {
				text.WriteString("\n")
				write(depth+1, path+key+".")
				continue
			}
			lines[path+key] = line
			fmt.Fprintf(&text, " %d\n", r.IntN(1000))
		}
	}
	write(0, "")
	return text.String(), lines
}

// TestProvenance: in 100 random cases, each key of the merged values is from the file and the line that an
// independent merge finds, which replaces the leaves below and above a path.
func TestProvenance(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var refs []reference
		// from has the source of each leaf.
		from := map[string]string{}
		for i := range 2 + r.IntN(4) {
			content, lines := randomDocument(r)
			name := fmt.Sprint("m", i)
			refs = append(refs, reference{ValuesReference: helmv2.ValuesReference{Kind: helmv2.KindConfigMap, Name: name}, content: content})
			for path, line := range lines {
				for other := range maps.Clone(from) {
					if strings.HasPrefix(other, path+".") || strings.HasPrefix(path, other+".") {
						delete(from, other)
					}
				}
				from[path] = fmt.Sprintf("ConfigMap/%s values.yaml:%d", name, line)
			}
		}
		composed, err := compose(refs, nil, &documents{})
		if err != nil {
			t.Fatal(err)
		}
		all := layers(refs, nil)
		got := map[string]string{}
		var walk func(value any, path []string)
		walk = func(value any, path []string) {
			if inner, is := value.(map[string]any); is {
				for key := range inner {
					walk(inner[key], append(slices.Clone(path), key))
				}
				return
			}
			origin := plan.OriginOf(path, all)
			got[strings.Join(path, ".")] = origin.String()
		}
		walk(composed, nil)
		if diff := cmp.Diff(from, got); diff != "" {
			t.Fatalf("provenance (-independent +got):\n%s", diff)
		}
	}
}

// TestComposeNotation: content at a target path has the notation of Helm's --set, unless literal.
func TestComposeNotation(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		part   part
		want   string
	}{
		"Integer":          {"numbers are numbers", part{"a", "12345678"}, `{"a":12345678}`},
		"LeadingZero":      {"a number that starts with zero is a string", part{"a", "007"}, `{"a":"007"}`},
		"Fraction":         {"a fraction is a string", part{"a", "1.5"}, `{"a":"1.5"}`},
		"True":             {"booleans ignore case", part{"a", "TRUE"}, `{"a":true}`},
		"False":            {"a boolean", part{"a", "false"}, `{"a":false}`},
		"Null":             {"null", part{"a", "null"}, `{"a":null}`},
		"Empty":            {"empty content is an empty string", part{"a.b", ""}, `{"a":{"b":""}}`},
		"EmptyInItem":      {"empty content in a list item is an empty string", part{"a[0].b", ""}, `{"a":[{"b":""}]}`},
		"List":             {"braces make a list", part{"a", "{x,1,true}"}, `{"a":["x",1,true]}`},
		"Index":            {"an index makes a list that is long enough", part{"a[2]", "x"}, `{"a":[null,null,"x"]}`},
		"IndexedMap":       {"of maps, too", part{"a[0].b", "x"}, `{"a":[{"b":"x"}]}`},
		"Commas":           {"a comma starts another assignment", part{"a", "x,b=y"}, `{"a":"x","b":"y"}`},
		"EscapedComma":     {"unless it is escaped", part{"a", `x\,y`}, `{"a":"x,y"}`},
		"EscapedDots":      {"escaped dots belong to the key", part{`a\.b/c.d`, "x"}, `{"a.b/c":{"d":"x"}}`},
		"EscapedSlash":     {"an escaped slash is a slash", part{`a\/b`, "x"}, `{"a/b":"x"}`},
		"Equals":           {"only the first sign separates", part{"a", "b=c"}, `{"a":"b=c"}`},
		"SpaceIsKept":      {"a newline at the end is kept", part{"a", "x\n"}, `{"a":"x\n"}`},
		"SingleQuotes":     {"quotes make a string", part{"a", "'1'"}, `{"a":"1"}`},
		"DoubleQuotes":     {"of either sort", part{"a", `"true"`}, `{"a":"true"}`},
		"QuotedNull":       {"quoted null is a string", part{"a", "'null'"}, `{"a":"null"}`},
		"QuotesWithin":     {"one pair of quotes is removed", part{"a", `"say 'hi'"`}, `{"a":"say 'hi'"}`},
		"QuotedNothing":    {"a pair of quotes may be empty", part{"a", `""`}, `{"a":""}`},
		"QuotedEscape":     {"escapes still count", part{"a", `"x\,y"`}, `{"a":"x,y"}`},
		"OneQuote":         {"a single quote character is content", part{"a", `"`}, `{"a":"\""}`},
		"UnmatchedQuotes":  {"quotes of different kinds are content", part{"a", `"x'`}, `{"a":"\"x'"}`},
		"QuoteAndLine":     {"quotes before a newline are content", part{"a", "'1'\n"}, `{"a":"'1'\n"}`},
		"LiteralNumber":    {"a literal is a string", literally("a", "1"), `{"a":"1"}`},
		"LiteralComma":     {"commas are content", literally("a.b", "x,b=y"), `{"a":{"b":"x,b=y"}}`},
		"LiteralBraces":    {"braces are content", literally("a", "{x,y}"), `{"a":"{x,y}"}`},
		"LiteralBackslash": {"backslashes are content", literally("a", `C:\x\,\\`), `{"a":"C:\\x\\,\\\\"}`},
		"LiteralBrackets":  {"brackets are content", literally("a", "[1].b"), `{"a":"[1].b"}`},
		"LiteralQuotes":    {"quotes are content", literally("a", `"x"`), `{"a":"\"x\""}`},
		"LiteralLines":     {"lines are content", literally("a", "x\n y\n"), `{"a":"x\n y\n"}`},
		"LiteralEmpty":     {"empty content is an empty string", literally("a", ""), `{"a":""}`},
		"LiteralJSON":      {"the usual case", literally("a", `{"k":["v",{"n":1}]}`), `{"a":"{\"k\":[\"v\",{\"n\":1}]}"}`},
		"LiteralPath":      {"the path keeps its notation", literally(`a\.b/c.d[1]`, "x,y"), `{"a.b/c":{"d":[null,"x,y"]}}`},
		"LiteralUnicode":   {"any character", literally("a", "ü→\u0085"), `{"a":"ü→\u0085"}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, tc.reason, []part{tc.part}, "", tc.want)
		})
	}
}

func check(t *testing.T, reason string, parts []part, inlineValues, want string) {
	t.Helper()
	var refs []reference
	for _, p := range parts {
		refs = append(refs, p.reference())
	}
	given, err := values.Parse([]byte(inlineValues))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(given)
	got, err := compose(refs, given, &documents{})
	if err != nil {
		t.Fatalf("%s: %v", reason, err)
	}
	expected, err := values.Parse([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	// Values that are equal as JSON are equal: Helm stores JSON.
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := values.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected, stored); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
	if after, _ := json.Marshal(given); string(after) != string(before) {
		t.Errorf("the inline values were changed from %s to %s", before, after)
	}
}

// TestComposeTypes: integers at target paths do not become floats.
func TestComposeTypes(t *testing.T) {
	t.Parallel()
	got, err := compose([]reference{part{"n", "12345678"}.reference()}, nil, &documents{})
	if err != nil {
		t.Fatal(err)
	}
	// A template prints a large float64 with an exponent, unlike the integer of --set.
	if diff := cmp.Diff(map[string]any{"n": int64(12345678)}, got); diff != "" {
		t.Errorf("integers by path stay integers (-want +got):\n%s", diff)
	}
}

// TestComposeEverything: a release may combine all kinds of values.
func TestComposeEverything(t *testing.T) {
	t.Parallel()
	hr := app(func(hr *helmv2.HelmRelease) {
		quota := from("cm", "quota", "limits.cpu")
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{
			from("cm", "base.yaml", ""), from("cm", "size.yaml", ""), quota,
			from("cm", "letters", "letters"), from("cm", "third", "letters[2]"),
			from("cm", "env", `annotations.some\.k8s\.annotation\/env`),
			{Kind: helmv2.KindSecret, Name: "sec"},
		}
		inline(hr, `{"replicaCount":2,"limits":{"cpu":"300m"}}`)
	})
	r := NewResolver(nil, reader(t, configMap("cm", map[string]string{
		"base.yaml": "limits: {cpu: 100m, memory: 64Mi}\nreplicaCount: 1\n",
		"size.yaml": "limits: {cpu: 200m}\n",
		"quota":     "400m", "letters": "{a,b,c}", "third": "d", "env": "prod",
	}), secret("sec", map[string]string{"values.yaml": "token: t0\n"})), nil)
	got, digest, err := composed(t, r, hr)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"replicaCount": 2.0, "token": "t0", "letters": []any{"a", "b", "d"},
		"limits":      map[string]any{"cpu": "400m", "memory": "64Mi"},
		"annotations": map[string]any{"some.k8s.annotation/env": "prod"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if d, _ := values.Digest(want); d != digest {
		t.Errorf("the digest is %s, want %s", digest, d)
	}
}

// TestReferencesAreReadOnce: each object is read once per reconciliation.
func TestReferencesAreReadOnce(t *testing.T) {
	t.Parallel()
	reads := 0
	hr := app(func(hr *helmv2.HelmRelease) {
		absent := from("absent", "", "")
		absent.Optional = true
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{
			from("x", "a", "a"), absent, from("x", "b", "b"), {Kind: helmv2.KindSecret, Name: "x", ValuesKey: "c", TargetPath: "c"}, absent,
		}
	})
	r := NewResolver(nil, counting(t, &reads, configMap("x", map[string]string{"a": "1", "b": "2"}), secret("x", map[string]string{"c": "3"})), nil)
	got, _, err := composed(t, r, hr)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": int64(1), "b": int64(2), "c": int64(3)}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if reads != 3 {
		t.Errorf("%d reads, want one of each of three objects", reads)
	}
	hr.Spec.ValuesFrom = nil
	if _, _, err := composed(t, r, hr); err != nil || reads != 3 {
		t.Errorf("without references nothing is read: %d reads, %v", reads-3, err)
	}
}

// TestReferencedSize: the size of all objects together has a limit.
func TestReferencedSize(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", 1<<20-1)
	for n, want := range map[int]string{16: "", 17: "with key 'a': the objects of spec.valuesFrom have more than 16777216 bytes"} {
		var objects []client.Object
		hr := app(func(hr *helmv2.HelmRelease) {
			for i := range n {
				name := fmt.Sprint("x", i)
				objects = append(objects, configMap(name, map[string]string{"a": full}))
				hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: helmv2.KindConfigMap, Name: name, ValuesKey: "a"})
			}
		})
		refs, err := NewResolver(nil, reader(t, objects...), nil).references(t.Context(), hr, &Want{})
		if (err != nil) != (want != "") || !strings.HasSuffix(fmt.Sprint(err), want) && err != nil || err == nil && len(refs) != n {
			t.Errorf("%d objects: %v", n, err)
		}
	}
}

// TestDocuments: the same content is parsed once, and its size counts once.
func TestDocuments(t *testing.T) {
	t.Parallel()
	content := "a: " + strings.Repeat("x", 1<<20)
	var refs []reference
	for range 100 {
		refs = append(refs, part{"", content}.reference())
	}
	var read documents
	if _, err := compose(refs, nil, &read); err != nil || len(read.parsed) != 1 {
		t.Errorf("%d documents, %v", len(read.parsed), err)
	}
	for i := range 100 {
		refs[i].content += fmt.Sprint(i)
	}
	_, err := compose(refs, nil, &documents{})
	if want := "all values of the release together have more than 16777216 bytes"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("a hundred contents: %v", err)
	}
}

// TestRepeatedContent: the work of merging does not grow with the number of references to the same
// content.
func TestRepeatedContent(t *testing.T) {
	content := "a: [" + strings.Repeat("[1], ", 50) + "]"
	merge := func(n int) float64 {
		refs := slices.Repeat([]reference{part{"", content}.reference()}, n)
		return testing.AllocsPerRun(5, func() {
			if _, err := compose(refs, nil, &documents{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if one, many := merge(1), merge(200); many > one+50 {
		t.Errorf("%.0f allocations for one reference, %.0f for two hundred", one, many)
	}
}

// TestUnresolvedReferences: the error names the reference and the cause.
func TestUnresolvedReferences(t *testing.T) {
	t.Parallel()
	optional := func(ref helmv2.ValuesReference) helmv2.ValuesReference { ref.Optional = true; return ref }
	objects := []client.Object{configMap("cm", map[string]string{"list": "[a]", "word": "hello", "broken": "a: b\n c: d\n"})}
	cases := map[string]struct {
		reason  string
		refs    []helmv2.ValuesReference
		failing error
		want    string
	}{
		"NoObject":         {reason: "a missing ConfigMap is an error", refs: []helmv2.ValuesReference{from("none", "", "")}, want: "ConfigMap chart values reference 'prod/none' with key 'values.yaml': the object does not exist"},
		"NoSecret":         {reason: "a missing Secret is an error", refs: []helmv2.ValuesReference{{Kind: helmv2.KindSecret, Name: "cm"}}, want: "Secret chart values reference 'prod/cm' with key 'values.yaml': the object does not exist"},
		"NoKey":            {reason: "a missing key is an error", refs: []helmv2.ValuesReference{from("cm", "none", "")}, want: "ConfigMap chart values reference 'prod/cm' with key 'none': the object has no such key"},
		"OptionalObject":   {reason: "an optional object may be missing", refs: []helmv2.ValuesReference{optional(from("none", "", ""))}},
		"OptionalKey":      {reason: "an optional key may be missing", refs: []helmv2.ValuesReference{optional(from("cm", "none", "a.b"))}},
		"OptionalThenNot":  {reason: "optional applies to one reference", refs: []helmv2.ValuesReference{optional(from("none", "", "")), from("none", "", "")}, want: "ConfigMap chart values reference 'prod/none' with key 'values.yaml': the object does not exist"},
		"Failing":          {reason: "a failed read is an error", refs: []helmv2.ValuesReference{from("cm", "a", "a")}, failing: errors.New("timeout"), want: "ConfigMap chart values reference 'prod/cm' with key 'a': timeout"},
		"OptionalFailing":  {reason: "a failed read of an optional object is an error", refs: []helmv2.ValuesReference{optional(from("cm", "a", "a"))}, failing: errors.New("timeout"), want: "optional ConfigMap chart values reference 'prod/cm' with key 'a': timeout"},
		"List":             {reason: "content at the root has to be a map", refs: []helmv2.ValuesReference{from("cm", "list", "")}, want: "ConfigMap chart values reference 'prod/cm' with key 'list': the content is not a map"},
		"OptionalWord":     {reason: "optional content at the root has to be a map too", refs: []helmv2.ValuesReference{optional(from("cm", "word", ""))}, want: "optional ConfigMap chart values reference 'prod/cm' with key 'word': the content is not a map"},
		"Broken":           {reason: "the error contains the line of invalid YAML", refs: []helmv2.ValuesReference{from("cm", "broken", "")}, want: "ConfigMap chart values reference 'prod/cm' with key 'broken': the content cannot be read as YAML: line 2"},
		"ThroughAWord":     {reason: "a path cannot continue below a string", refs: []helmv2.ValuesReference{from("cm", "word", "a"), from("cm", "word", "a.b")}, want: `ConfigMap chart values reference 'prod/cm' with key 'word': the target path "a.b" cannot be set: unable to parse key: interface conversion: interface {} is string, not map[string]interface {}`},
		"BadPath":          {reason: "a path has to end in a key", refs: []helmv2.ValuesReference{from("cm", "word", "a.")}, want: `ConfigMap chart values reference 'prod/cm' with key 'word': the target path "a." cannot be set: key map "a" has no value`},
		"IndexOutOfBounds": {reason: "an index has a limit", refs: []helmv2.ValuesReference{from("cm", "word", "a[99999]")}, want: `ConfigMap chart values reference 'prod/cm' with key 'word': the target path "a[99999]" cannot be set: a list index is greater than 10000`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := reader(t, objects...)
			if tc.failing != nil {
				live = interceptor.NewClient(live, interceptor.Funcs{
					Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
						return tc.failing
					},
				})
			}
			hr := app(func(hr *helmv2.HelmRelease) { hr.Spec.ValuesFrom = tc.refs })
			values, _, err := composed(t, NewResolver(nil, live, nil), hr)
			var want *release.Blocked
			if tc.want != "" {
				want = &release.Blocked{Reason: helmv2.ReasonValuesError, Retry: release.Backoff(), Message: "could not resolve " + tc.want}
			} else if len(values) != 0 {
				t.Errorf("%s: values are %v", tc.reason, values)
			}
			if diff := cmp.Diff(want, blocked(t, err), compare()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSecretsStaySecret: errors do not quote the content of references, since readers of a
// HelmRelease may not have the right to read Secrets.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	const canary = "s3cr3t"
	for _, tc := range []struct{ path, content string }{
		{"", canary},
		{"", "[" + canary + "]"},
		{"", "a: *" + canary},
		{"", "a: b: " + canary},
		{"", canary + ": ["},
		{"", "a: .inf\n" + canary + ": b"},
		{"", "{" + canary},
		{"", "\"" + canary},
		{"", "? [" + canary + "]: b"},
		{"", "%" + canary + " x\n---\na: b"},
		{"", "a: !!int " + canary},
		{"", "a: \x00" + canary},
		{"", "<<: " + canary},
		{"", "a: !<" + canary},
		{"", "!" + canary},
		{"", "a: !!binary " + canary + "="},
		{"", "a: |9" + canary},
		{"a", "x," + canary},
		{"a", "{x," + canary},
		{"a", "{x}" + canary},
		{"a", "x," + canary + "[0"},
		{"a", "x," + canary + "[x]=1"},
		{"a", "x,b[" + canary + "]=1"},
		{"a", "x,b[0]" + canary + "=1"},
		{"a", "x," + canary + ".=1"},
		{"a", "x,b=1,b." + canary + "=1"},
		{"a", "'x," + canary + "'"},
		{"a", `x,"` + canary + `"`},
		{"word.b", canary},
		{"a.", canary},
		{"a[99999]", canary},
		{"a[", canary},
		{"a[x]", canary},
		{`a\`, canary},
		{"literal:word.b", canary},
		{"literal:a.", canary},
		{"literal:a[", canary},
	} {
		refs := []reference{part{"word", canary}.reference(), part{tc.path, tc.content}.reference()}
		_, err := compose(refs, map[string]any{}, &documents{})
		if err == nil {
			t.Errorf("%q at %q: no error, so nothing is tested", tc.content, tc.path)
			continue
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, canary) {
				t.Errorf("%q at %q: the error quotes the content: %s", tc.content, tc.path, text)
			}
		}
	}
}

// TestValuesFrom: ValuesFrom returns the names of one kind in order.
func TestValuesFrom(t *testing.T) {
	t.Parallel()
	hr := app(func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{from("a", "", ""), {Kind: helmv2.KindSecret, Name: "b"}, from("c", "", "")}
	})
	got := fmt.Sprint(ValuesFrom(hr, helmv2.KindConfigMap), ValuesFrom(hr, helmv2.KindSecret))
	if want := "[prod/a prod/c] [prod/b]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzCompose(f *testing.F) {
	f.Add("a: {b: 1}\nl: [x]", `{"a":{"b":2},"l":["y"]}`, "a.b", "{x,y}", false)
	f.Add("a: null", `{"a":{"b":[{"c":1}]}}`, "a.b[0].c", "'1'", false)
	f.Add("a: {b: [{c: 1}]}", `{}`, "a.b[0].c", `{,}\`, true)
	f.Add("", `{"a":1}`, `x\.y/z[3]`, "", false)
	f.Add("l: [[1], null]", `{"l":[[2],null,3]}`, "l[1][2]", "x,l[0]=y", false)
	f.Add("- x", `[]`, "a..b", ",", true)
	f.Fuzz(func(t *testing.T, root, inlineValues, path, content string, literal bool) {
		given, err := values.Parse([]byte(inlineValues))
		if err != nil {
			return
		}
		before, err := values.Digest(given)
		if err != nil {
			return
		}
		set := reference{ValuesReference: helmv2.ValuesReference{TargetPath: path, Literal: literal}, content: content}
		refs := []reference{{content: root}, set, set}
		first, err := compose(refs, given, &documents{})
		second, again := compose(refs, given, &documents{})
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Errorf("first %v, then %v", err, again)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("the same is composed differently (-first +second):\n%s", diff)
		}
		if after, err := values.Digest(given); err != nil || after != before {
			t.Errorf("the inline values were changed to %v, %v", given, err)
		}
	})
}

func composed(t *testing.T, r *Resolver, hr *helmv2.HelmRelease) (map[string]any, string, error) {
	t.Helper()
	var want Want
	err := r.values(t.Context(), hr, &want)
	return want.Values, want.ConfigDigest, err
}

// TestSecretContents: secrets returns the contents of Secrets, each once.
func TestSecretContents(t *testing.T) {
	from := func(kind, path, content string) reference {
		return reference{content: content, ValuesReference: helmv2.ValuesReference{Kind: kind, TargetPath: path}}
	}
	got := secrets([]reference{
		from("ConfigMap", "", "public: all"), from("Secret", "", "a: hunter22"), from("Secret", "db.password", "'quoted one'"),
		from("Secret", "", "b: first1"), from("Secret", "c", "b: first1"),
	})
	if diff := cmp.Diff([]string{"a: hunter22", "'quoted one'", "b: first1"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
