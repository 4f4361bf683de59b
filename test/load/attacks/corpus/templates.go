// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// withFiles returns a chart with a template, and n files of size bytes that it can read.
func withFiles(n, size int, text string) func() []byte {
	return func() []byte {
		all := []entry{{name: Chart + "/templates/evil.yaml", content: object + text}}
		for i := range n {
			all = append(all, entry{name: fmt.Sprintf("%s/files/%d.txt", Chart, i), content: strings.Repeat("line\n", size/5)})
		}
		return pack(all...)
	}
}

// templates returns attacks whose text is here.
func templates() []Attack {
	inline := func(name, text string, outcome Outcome) Attack {
		return Attack{Name: "templates/" + name, Archive: template(text), Outcome: outcome}
	}
	worst := func(a Attack) Attack { a.Worst = true; return a }
	hooks := strings.Repeat("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  annotations: {helm.sh/hook: pre-install}\ndata: {a: {{ repeat 1000000 \"x\" }}}\n", 50)
	// Two routines that call each other.
	mutual := `{{ define "a" }}{{ include "b" . }}{{ end }}{{ define "b" }}{{ tpl "{{ include \"a\" . }}" . }}{{ end }}{{ include "a" . }}`
	return []Attack{
		worst(inline("toml", `{{ $d := fromToml (printf "a = %s" (repeat 2000000 "[")) }}`, died(memory, stack))),
		worst(inline("glob", `{{ $f := .Files.Glob (repeat 2000000 "{") }}`, died(memory, stack, overtime))),
		inline("nested-glob", `{{ $f := .Files.Glob (printf "%sb%s" (repeat 400000 "{a,") (repeat 400000 "}")) }}`, died(memory, stack, overtime)),
		{Name: "templates/files-as-secrets", Archive: withFiles(20, 1<<20, "{{ $l := list }}{{ range until 1000 }}{{ $l = append $l (($.Files.Glob \"files/*\").AsSecrets) }}{{ end }}"), Outcome: died(memory)},
		{Name: "templates/files-as-lines", Archive: withFiles(20, 1<<20, "{{ $l := list }}{{ range $n, $f := .Files }}{{ range until 100 }}{{ $l = append $l ($.Files.Lines $n) }}{{ end }}{{ end }}"), Outcome: died(memory)},
		inline("from-json-array", `{{ $l := list }}{{ range until 1000 }}{{ $l = append $l (fromJsonArray (printf "[%s1]" (repeat 1000000 "1,"))) }}{{ end }}`, died(memory)),
		inline("from-json-depth", `# {{ fromJson (repeat 5000000 "[") }}`, harmless()),
		inline("from-yaml-aliases", `{{ $t := "a: &x [x,x,x,x,x,x,x,x,x,x]\n" }}{{ range until 9 }}{{ $t = printf "%sk%d: &x [*x,*x,*x,*x,*x,*x,*x,*x,*x,*x]\n" $t . }}{{ end }}# {{ fromYaml $t | toJson }}`, harmless()),
		inline("from-yaml-depth", `# {{ fromYaml (repeat 2000000 "[") }}`, harmless()),
		inline("from-yaml-long-alias", `{{ $d := fromYaml (printf "a: &x %s\nb: [%s1]" (repeat 1000000 "x") (repeat 100000 "*x,")) }}# {{ toYaml $d | len }}`, died(memory)),
		worst(inline("output", `data: {a: "{{ range until 60 }}{{ repeat 1000000 "x" }}{{ end }}"}`, Outcome{Reason: helmv2.ReasonInstallFailed, Says: []string{"evil"}, Limits: []string{memory}})),
		inline("output-at-limit", `{{ range until 33 }}# {{ repeat 1000000 "x" }}
{{ end }}`, harmless()),
		worst(inline("rendered-aliases", "data:\n"+indented(laughs()), Outcome{Reason: helmv2.ReasonInstallFailed, Limits: []string{expansion, "excessive aliasing"}})),
		inline("rendered-long-alias", "data:\n"+indented(longAlias(1<<20, 200)), Outcome{Reason: helmv2.ReasonInstallFailed, Limits: []string{expansion, "excessive aliasing", memory}}),
		{Name: "templates/notes", Archive: func() []byte {
			return pack(entry{name: Chart + "/templates/a.yaml", content: object}, entry{name: Chart + "/templates/NOTES.txt", content: `{{ range until 60 }}{{ repeat 1000000 "x" }}{{ end }}`})
		}, Outcome: Outcome{Reason: helmv2.ReasonInstallFailed, Limits: []string{memory, output}}},
		{Name: "templates/hooks", Archive: template(hooks), Outcome: Outcome{Reason: helmv2.ReasonInstallFailed, Limits: []string{memory, output}}},
		inline("many-objects", "{{ range until 200000 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a{{ . }}}\n{{ end }}", died(memory, overtime)),
		inline("mutual-recursion", mutual, died(stack, memory)),
		inline("include-without-end", `{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`, failed("evil")),
		inline("certificates", `{{ range until 1000000 }}{{ $c := genSignedCert "a" nil nil 1 (genCA "b" 1) }}{{ end }}`, died(overtime)),
		inline("passwords", `{{ range until 1000000 }}{{ $p := derivePassword 1 "long" "a" "b" "c" }}{{ end }}`, died(overtime)),
		inline("bcrypt", `{{ range until 1000000 }}{{ $p := bcrypt "a" }}{{ end }}`, died(overtime)),
		inline("regular-expression", `{{ $s := repeat 30000 "x" }}{{ range until 100000 }}{{ $m := regexMatch "(.*)(.*)(.*)(.*)(.*)y" $s }}{{ end }}`, died(overtime)),
		inline("large-regular-expression", `{{ $m := regexMatch (repeat 400 "(\\pL{1,30}){1,30}") (repeat 1000000 "x") }}`, died(memory, overtime)),
		worst(inline("lookups", `{{ range $i := 1000000000 }}{{ range list "Secret" "ConfigMap" "Pod" "Node" }}{{ $l := lookup "v1" . "" "" }}{{ end }}{{ end }}`, died(overtime))),
		inline("kept-lookups", `{{ $l := list }}{{ range $i := 1000000000 }}{{ $l = append $l (lookup "v1" "Secret" "" "") }}{{ end }}`, died(memory, overtime)),
		inline("sort", `{{ range until 100000 }}{{ $s := sortAlpha (until 100000) }}{{ end }}`, died(overtime, memory)),
		inline("semver", `{{ $c := repeat 100 ">=1 " }}{{ range $i := 1000000000 }}{{ $s := semverCompare $c "1.0.0" }}{{ end }}`, died(overtime)),
		inline("dates", `{{ range $i := 1000000000 }}{{ $s := dateModify "1h" now }}{{ end }}`, died(overtime)),
		{Name: "templates/endless", Worst: true, Archive: template(`{{ range $i := 1000000000000 }}{{ end }}`), Outcome: died(overtime)},
	}
}

// indented returns lines that are indented by two spaces.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// recordedTemplates returns the templates of internal/render/handler/testdata/attacks.
func recordedTemplates() []Attack {
	limits := map[string]Outcome{}
	for _, group := range []struct {
		outcome Outcome
		names   string
	}{
		{died(memory, overtime), "Appending Doubling Indent Join Laughs LaughsJSON Lists Output Random Regexp Repeat RepeatAgain Replace Seq SlowRegexp Until UntilStep"},
		{died(stack), "Cycle CycleMerged CycleQuoted CycleToo DeepTemplate Include Template Tpl TplBlocks"},
		{died(overtime, stack), "CycleCopied"},
		{died(memory, stack), "CycleYAML"},
		{died(overtime), "Exponential Range RangeInRange Uniq"},
		{failed("evil"), "Lookups Star Width"},
		{harmless(), "Keys"},
	} {
		for name := range strings.FieldsSeq(group.names) {
			limits[name] = group.outcome
		}
	}
	files, err := filepath.Glob(filepath.Join(harness.Root(), "internal", "render", "handler", "testdata", "attacks", "*.yaml"))
	must(err)
	slices.Sort(files)
	var all []Attack
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		all = append(all, Attack{Name: "recorded/" + name, Outcome: limits[name], Archive: func() []byte {
			text, err := os.ReadFile(path) //nolint:gosec // a file of the repository
			must(err)
			return file("templates/evil.yaml", string(text))()
		}})
	}
	return all
}
