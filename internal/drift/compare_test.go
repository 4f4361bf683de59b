// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/release"
)

// TestSecretsAreNotShown: the reported fields of a Secret contain none of its values, plain or
// encoded.
func TestSecretsAreNotShown(t *testing.T) {
	for _, name := range []string{"secret-changed", "secret-annotations", "secret-clean"} {
		g := readGolden(t, "testdata/"+name+".yaml")
		d, err := Compare(Case{Desired: Normalize(decode(t, g.Desired)), Live: decode(t, g.Live), DryRun: decode(t, g.DryRun)})
		if err != nil {
			t.Fatal(err)
		}
		told, err := json.Marshal([]any{d.Fields, d.Ceded})
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"hidden", "aGlkZGVu", "b3RoZXI=", "ZXZpbA==", "Ym9v"} {
			if strings.Contains(string(told), secret) {
				t.Errorf("%s: %s is in %s", name, secret, told)
			}
		}
		if name == "secret-changed" {
			if got, _, _ := unstructured.NestedString(d.Body.Object, "data", "b"); got != "Ym9v" {
				t.Errorf("the body has %q", got)
			}
		}
	}
}

// TestOwners: owners decide whether a difference is drift, in cases that are rare on API servers.
// In each case the release sets a and b.c to 1, and the fields whole and status.
func TestOwners(t *testing.T) {
	const dryRun = `{manager: helm-controller, operation: Apply, apiVersion: v1, time: "2026-01-01T12:00:00Z", fieldsV1: {"f:a": {}, "f:b": {"f:c": {}}, "f:whole": {}, "f:status": {"f:s": {}}}}`
	for name, tc := range map[string]struct{ values, owners, override, want string }{
		"Same":            {"a: 1\nb: {c: 1}\nwhole: {x: 1}\nstatus: {s: 2}", "", "", ""},
		"OwnedAndMissing": {"b: {c: 1}\nwhole: {x: 1}", dryRun, "", "missing .a  "},
		"OwnedByHelm":     {"a: 2\nb: {c: 1}\nwhole: {x: 1}", `{manager: helm, operation: Update, fieldsV1: {"f:a": {}}}`, "", ""},
		"OwnedByHelmStatus": {
			"a: 2\nb: {c: 1}\nwhole: {x: 1}", `{manager: helm, operation: Update, subresource: status, fieldsV1: {"f:a": {}}}`, "",
			"changed .a helm status",
		},
		"Newest": {
			"a: 2\nb: {c: 1}\nwhole: {x: 1}", `{manager: a, time: "2026-01-01T12:00:01Z", fieldsV1: {"f:a": {}}}, {manager: b, time: "2026-01-01T12:00:02Z", fieldsV1: {"f:a": {}}}`, "",
			"changed .a b ",
		},
		"Tie": {
			"a: 2\nb: {c: 1}\nwhole: {x: 1}", `{manager: b, time: "2026-01-01T12:00:01Z", fieldsV1: {"f:a": {}}}, {manager: a, time: "2026-01-01T12:00:01Z", fieldsV1: {"f:a": {}}}`, "",
			"changed .a a ",
		},
		"MissingAndOlder": {"b: {c: 1}\nwhole: {x: 1}", dryRun + `, {manager: a, time: "2026-01-01T11:00:00Z", fieldsV1: {"f:z": {}}}`, "", "missing .a  "},
		"MissingAndOurTimeUnknown": {
			"b: {c: 1}\nwhole: {x: 1}", `{manager: helm-controller, operation: Apply}, {manager: a, time: "2026-01-01T11:00:00Z", fieldsV1: {"f:z": {}}}`, "",
			"missing .a  ",
		},
		"Override":            {"a: 1\nb: {c: 1}\nwhole: {x: 1}\nz: 1", `{manager: o, apiVersion: v1, fieldsV1: {"f:z": {}}}`, "o", "added .z o "},
		"OverrideSubresource": {"a: 1\nb: {c: 1}\nwhole: {x: 1}\nz: 1", `{manager: o, apiVersion: v1, subresource: scale, fieldsV1: {"f:z": {}}}`, "o", ""},
		"OverrideVersion":     {"a: 1\nb: {c: 1}\nwhole: {x: 1}\nz: 1", `{manager: o, apiVersion: v2, fieldsV1: {"f:z": {}}}`, "o", ""},
		"OverrideOurs":        {"a: 1\nb: {c: 1}\nwhole: {x: 1}\nz: 1", `{manager: helm, apiVersion: v1, fieldsV1: {"f:z": {}}}`, "helm", ""},
		"OverrideAbove":       {"a: 1\nb: {c: 1}\nwhole: {x: 1}", `{manager: o, apiVersion: v1, fieldsV1: {"f:b": {}}}`, "o", ""},
		"OverrideStatus":      {"a: 1\nb: {c: 1}\nwhole: {x: 1}\nstatus: {z: 1}", `{manager: o, apiVersion: v1, fieldsV1: {"f:status": {"f:z": {}}}}`, "o", ""},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(values, owners string) *unstructured.Unstructured {
				return &unstructured.Unstructured{Object: parse(t, values+"\nmetadata: {managedFields: ["+owners+"]}")}
			}
			release := "a: 1\nb: {c: 1}\nwhole: {x: 1}\nstatus: {s: 1}"
			d, err := Compare(Case{
				Desired: object(release, ""), Live: object(tc.values, tc.owners), DryRun: object(release, dryRun), Override: []string{tc.override},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range d.Disown {
				if e.FieldsV1.GetRawString() == "{}" {
					t.Errorf("%s owns nothing and is still there", e.Manager)
				}
			}
			var got []string
			for _, f := range d.Fields {
				got = append(got, strings.Join([]string{string(f.Kind), f.Path, f.Manager, f.Subresource}, " "))
			}
			if strings.Join(got, ", ") != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestOverlay(t *testing.T) {
	for name, tc := range map[string]struct{ want, have, pointer, becomes string }{
		"Whole":         {"a: 1", "a: 2", "/a", "a: 2"},
		"Removed":       {"a: 1", "b: 2", "/a", "{}"},
		"Added":         {"b: 2", "a: 1\nb: 2", "/a", "a: 1\nb: 2"},
		"AddedBelow":    {"b: 2", "a: {c: 1}\nb: 2", "/a/c", "b: 2"},
		"Item":          {"a: [1, 2]", "a: [1, 3]", "/a/1", "a: [1, 3]"},
		"ItemRemoved":   {"a: [1, 2, 3]", "a: [1]", "/a/1", "a: [1, 3]"},
		"ItemAppended":  {"a: [1]", "a: [1, 2]", "/a/1", "a: [1, 2]"},
		"ItemBeyond":    {"a: [1]", "a: [1, 2, 3]", "/a/2", "a: [1]"},
		"NoItem":        {"a: [1]", "a: [1]", "/a/1", "a: [1]"},
		"BelowItem":     {"a: [{b: 1, c: 1}]", "a: [{b: 2, c: 2}]", "/a/0/b", "a: [{b: 2, c: 1}]"},
		"StrangeIndex":  {"a: [1]", "a: [2]", "/a/x", "a: [1]"},
		"NegativeIndex": {"a: [1]", "a: [2]", "/a/-1", "a: [1]"},
		"BelowScalar":   {"a: 1", "a: {b: 2}", "/a/b", "a: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := overlay(parse(t, tc.want), parse(t, tc.have), parsePointer(tc.pointer))
			if diff := cmp.Diff(any(parse(t, tc.becomes)), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestShow(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"Nothing": {nil, ""},
		"Plain":   {map[string]any{"b": "<&>", "a": int64(1)}, `{"a":1,"b":"<&>"}`},
		"Fits":    {strings.Repeat("a", 118), `"` + strings.Repeat("a", 118) + `"`},
		"Cut":     {strings.Repeat("a", 119), `"` + strings.Repeat("a", 119) + `...`},
		"Rune":    {strings.Repeat("a", 118) + "ä", `"` + strings.Repeat("a", 118) + `...`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := redact(nil).show(tc.value); got != tc.want {
				t.Errorf("%s", got)
			}
		})
	}
}

// TestRedacted: secrets are removed from values before they are cut, and from the API server's
// errors.
func TestRedacted(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "open sesame", "***") }
	if got := redact(hide).show(strings.Repeat("a", 115) + "open sesame"); strings.Contains(got, "open") {
		t.Error(got)
	}
	if got := (server{info: infoOf("ConfigMap", "web"), redact: hide}).explain(errors.New("no open sesame")); got != "no ***" {
		t.Error(got)
	}
	object := func(manager, operation, data string) *unstructured.Unstructured {
		return decode(t, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[{"manager":"`+manager+`","operation":"`+operation+`","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}]},"data":{"a":"`+data+`"}}`))
	}
	d, err := Compare(Case{
		Desired: object("", "", "open sesame"), Live: object("kubectl", "Update", "other"), DryRun: object("helm-controller", "Apply", "open sesame"), Redact: hide,
	})
	if err != nil || len(d.Fields) != 1 || d.Fields[0].Want != `"***"` || d.Fields[0].Have != `"other"` {
		t.Errorf("%+v, %v", d.Fields, err)
	}
	_, fields, err := compareRefused(Case{Desired: object("", "", "other"), Live: object("kubectl", "Update", "open sesame"), Redact: hide})
	if err != nil || len(fields) != 1 || fields[0].Have != `"***"` {
		t.Errorf("%+v, %v", fields, err)
	}
}

// TestRedactedPaths: secrets are removed from paths, and a pointer with a secret is left out.
func TestRedactedPaths(t *testing.T) {
	t.Parallel()
	hide := func(s string) string { return strings.ReplaceAll(s, "open/sesame", "***") }
	object := func(manager, operation, data string) *unstructured.Unstructured {
		return decode(t, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[{"manager":"`+manager+`","operation":"`+operation+`","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:open/sesame":{}}}}]},"data":{"open/sesame":"`+data+`"}}`))
	}
	desired, live := object("", "", "one"), object("kubectl", "Update", "two")
	d, err := Compare(Case{Desired: desired, Live: live, DryRun: object("helm-controller", "Apply", "one"), Redact: hide})
	_, refused, errRefused := compareRefused(Case{Desired: desired, Live: live, Redact: hide})
	answered, errAnswered := Answered(live, desired, hide)
	if err := errors.Join(err, errRefused, errAnswered); err != nil {
		t.Fatal(err)
	}
	for _, fields := range [][]release.DriftedField{d.Fields, refused, answered} {
		if len(fields) != 1 || !strings.HasPrefix(fields[0].Path, ".data") || !strings.Contains(fields[0].Path, "***") || strings.Contains(fields[0].Path, "sesame") || fields[0].Pointer != "" {
			t.Errorf("%+v", fields)
		}
	}
}

func TestCompareErrors(t *testing.T) {
	ok := `{"metadata":{"managedFields":[{"manager":"helm-controller","operation":"Apply","fieldsV1":{"f:data":{}}}]}}`
	for name, tc := range map[string]struct{ live, dryRun, want string }{
		"NoOwner":    {`{}`, `{"metadata":{"managedFields":[{"manager":"helm-controller","operation":"Update"}]}}`, "the answer to the dry run has no managedFields entry of this field manager"},
		"NoEntry":    {`{}`, `{"metadata":{"managedFields":[1]}}`, "the answer to the dry run: metadata.managedFields[0] is no object"},
		"BadElement": {`{"metadata":{"managedFields":[{"fieldsV1":{"x:y":{}}}]}}`, ok, "the live object: metadata.managedFields[0]: "},
		"Nothing":    {`{}`, `{}`, "the answer to the dry run has no managedFields entry of this field manager"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Case{Desired: &unstructured.Unstructured{}, Live: &unstructured.Unstructured{}, DryRun: &unstructured.Unstructured{}}
			if err := json.Unmarshal([]byte(tc.live), &c.Live.Object); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tc.dryRun), &c.DryRun.Object); err != nil {
				t.Fatal(err)
			}
			if _, err := Compare(c); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Error(err)
			}
		})
	}
}

// fuzzed decodes any JSON object as API machinery does.
func fuzzed(raw []byte) *unstructured.Unstructured {
	o := map[string]any{}
	if json.Unmarshal(raw, &o) != nil || o == nil {
		return nil
	}
	if o["kind"] == nil || o["kind"] == "" {
		o["kind"] = "Any"
	}
	raw, err := json.Marshal(o)
	u := &unstructured.Unstructured{}
	if err != nil || u.UnmarshalJSON(raw) != nil {
		return nil
	}
	return u
}

func FuzzCompare(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		g := readGolden(f, file)
		f.Add([]byte(g.Desired), []byte(g.Live), []byte(g.DryRun), "/spec/replicas", "editor")
	}
	f.Add([]byte(`{}`), []byte(`{"metadata":{"managedFields":[null]},"a":[]}`), []byte(`{"a":[[]],"metadata":{"managedFields":[{"manager":"helm-controller","operation":"Apply","fieldsV1":{"f:a":{"i:-1":{},"i:9":{"k:{}":{}},"v:1":{}}}}]}}`), "/a/0/0", "")
	f.Fuzz(func(t *testing.T, desired, live, dryRun []byte, ignore, override string) {
		d, l, r := fuzzed(desired), fuzzed(live), fuzzed(dryRun)
		if d == nil || l == nil || r == nil {
			return
		}
		c := Case{Desired: Normalize(d), Live: l, DryRun: r, Ignore: []string{ignore}, Override: []string{override}}
		first, err := Compare(c)
		again, errAgain := Compare(c)
		if diff := cmp.Diff(first, again); diff != "" || (err == nil) != (errAgain == nil) {
			t.Errorf("another time, another answer: %v, %v:\n%s", err, errAgain, diff)
		}
	})
}
