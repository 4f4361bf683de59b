// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/prometheus/common/model"
)

const (
	at      = "../../config/monitoring/"
	runbook = "https://github.com/pintle-dev/pintle/blob/main/docs/runbook.md#"
)

var promQL = parser.NewParser(parser.Options{})

// targets are the labels that Prometheus adds to every target.
var targets = []string{"job", "instance"}

func rules(t *testing.T) *rulefmt.RuleGroups {
	t.Helper()
	groups, errs := rulefmt.ParseFile(at+"rules.yaml", false, model.UTF8Validation, promQL, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return groups
}

// TestRules: the alert rules are valid, complete, link to their entries in the runbook, and name only
// metrics and labels that exist.
func TestRules(t *testing.T) {
	known, seen := exposed(t), map[string]bool{}
	raw, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := string(raw)
	for _, group := range rules(t).Groups {
		for _, rule := range group.Rules {
			if seen[rule.Alert] {
				t.Errorf("two alerts have the name %s", rule.Alert)
			}
			seen[rule.Alert] = true
			for _, problem := range problems(known, rule.Expr) {
				t.Errorf("%s: %s", rule.Alert, problem)
			}
			if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s lacks severity, summary or description", rule.Alert)
			}
			// The entries of causes are compared with their codes in internal/document_test.go.
			url, withoutCause := runbook+strings.ToLower(rule.Alert), runbook+`{{ or $labels.cause "`+rule.Alert+`" | toLower }}`
			if got := rule.Annotations["runbook_url"]; got != url && got != withoutCause {
				t.Errorf("%s links to %s", rule.Alert, got)
			}
			if !strings.Contains(entries, "\n### "+rule.Alert+"\n") {
				t.Errorf("docs/runbook.md has no entry for %s", rule.Alert)
			}
		}
	}
}

// TestOperatorRules: rules.yaml and prometheusrule.yaml have the same rules.
func TestOperatorRules(t *testing.T) {
	read := func(path string, into any) {
		t.Helper()
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	var plain struct{ Groups any }
	var operator struct{ Spec struct{ Groups any } }
	read(at+"rules.yaml", &plain)
	read(at+"prometheusrule.yaml", &operator)
	if plain.Groups == nil || fmt.Sprint(plain.Groups) != fmt.Sprint(operator.Spec.Groups) {
		t.Error("rules.yaml and prometheusrule.yaml differ")
	}
}

// dashboard holds the fields of Grafana's format that the test reads.
type dashboard struct {
	UID        string
	Templating struct {
		List []struct {
			Name  string
			Query any
		}
	}
	Panels []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ RefID, Expr string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	raw, err := os.ReadFile(at + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDashboard: the panels are valid and query only metrics and labels that exist.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	known, ids := exposed(t), map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %s has a duplicate ID, no query, or is too wide", p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$namespace", ".*").Replace(target.Expr)
			for _, problem := range problems(known, expr) {
				t.Errorf("%s %s: %s", p.Title, target.RefID, problem)
			}
		}
	}
	if len(d.Panels) < 20 || len(d.Templating.List) != 2 {
		t.Errorf("%d panels and %d variables were read", len(d.Panels), len(d.Templating.List))
	}
	for _, problem := range problems(known, variable(d)) {
		t.Errorf("the variable: %s", problem)
	}
}

// variable returns the query of the variable namespace.
func variable(d dashboard) string {
	query, _ := d.Templating.List[1].Query.(map[string]any)
	text, _ := query["query"].(string)
	text, _ = strings.CutPrefix(text, "query_result(")
	return strings.TrimSuffix(text, ")")
}

// problems returns the errors of an expression: metrics and labels that the controller does not
// have, or that the queried metrics do not have.
func problems(known map[string][]string, text string) (found []string) {
	expr, err := promQL.ParseExpr(text)
	if err != nil {
		return []string{err.Error()}
	}
	has := map[string]bool{}
	for _, label := range targets {
		has[label] = true
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			all, exists := known[selector.Name]
			if slices.Contains(all, "namespace") {
				// Prometheus renames it if the target has such a label.
				all = append(slices.Clone(all), "exported_namespace")
			}
			if !exists {
				found = append(found, selector.Name+" does not exist")
			}
			for _, label := range all {
				has[label] = true
			}
			for _, m := range selector.LabelMatchers {
				if m.Name != labels.MetricName && !slices.Contains(all, m.Name) {
					found = append(found, selector.Name+" has no label "+m.Name)
				}
			}
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		var used []string
		switch n := node.(type) {
		case *parser.AggregateExpr:
			used = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				used = append(slices.Clone(n.VectorMatching.MatchingLabels), n.VectorMatching.Include...)
			}
		}
		for _, label := range used {
			if !has[label] {
				found = append(found, "no queried metric has a label "+label)
			}
		}
		return nil
	})
	return found
}

// TestProblems: problems finds unknown metrics and labels, and syntax errors.
func TestProblems(t *testing.T) {
	known := exposed(t)
	for expr, want := range map[string]string{
		`sum by (name) (pintle_helm_release_info{suspended="true"})`:              "",
		`rate(workqueue_queue_duration_seconds_bucket{le="1"}[5m])`:               "",
		`go_memstats_heap_inuse_bytes and on (job) process_resident_memory_bytes`: "",
		`pintle_helm_release_infos`:                                               "pintle_helm_release_infos does not exist",
		`pintle_helm_release_info{le="1"}`:                                        "pintle_helm_release_info has no label le",
		`sum by (reason) (pintle_helm_release_info)`:                              "no queried metric has a label reason",
		`go_goroutines * on (reason) go_goroutines`:                               "no queried metric has a label reason",
		`go_goroutines * on (job) group_left (reason) go_goroutines`:              "no queried metric has a label reason",
		`sum by (`: "1:9: parse error",
	} {
		got := strings.Join(problems(known, expr), "; ")
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q; %d series names are known", expr, got, want, len(slices.Collect(maps.Keys(known))))
		}
	}
}
