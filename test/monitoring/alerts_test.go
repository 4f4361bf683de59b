// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"go.yaml.in/yaml/v3"
)

// played is a file in the format of `promtool test rules`, with the fields that are used here.
type played struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []struct {
		Name        string
		Interval    model.Duration
		InputSeries []struct{ Series, Values string } `yaml:"input_series"`
		Alerts      []expected                        `yaml:"alert_rule_test"`
	}
}

type expected struct {
	At     model.Duration `yaml:"eval_time"`
	Name   string         `yaml:"alertname"`
	Firing []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

// TestAlerts: the series of testdata fire exactly the expected alerts, with and without honorLabels.
func TestAlerts(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("HonorLabels", func(t *testing.T) { playAlerts(t, raw) })
	t.Run("Renamed", func(t *testing.T) { playAlerts(t, renamed(raw)) })
}

// renamed returns a text with the series as Flux's PodMonitor yields them: without honorLabels,
// namespace is that of the Pod, and the label of the metric is called exported_namespace.
func renamed(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte(`{namespace="`), []byte(`{pod="helm-controller-0",namespace="flux-system",exported_namespace="`))
}

func playAlerts(t *testing.T, raw []byte) {
	t.Helper()
	file, engine := readPlayed(t, raw), newEngine(t)
	fired, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		var all series
		for _, s := range test.InputSeries {
			all = append(all, parsed(t, s.Series, s.Values, time.Duration(test.Interval)))
		}
		for _, want := range test.Alerts {
			if len(want.Firing) > 0 {
				fired[want.Name] = true
			} else {
				silent[want.Name] = true
			}
			var expect []string
			for _, a := range want.Firing {
				labels := labels.NewBuilder(labels.FromMap(a.Labels)).Set(model.AlertNameLabel, want.Name).Labels()
				expect = append(expect, fmt.Sprint(labels, labelsOf(a.Annotations)))
			}
			got := firing(t, player{engine, all, time.Duration(file.EvaluationInterval)}, want.Name, time.Duration(want.At))
			slices.Sort(expect)
			if diff := cmp.Diff(expect, got); diff != "" {
				t.Errorf("%s, %s after %s (-want +got):\n%s", test.Name, want.Name, want.At, diff)
			}
		}
	}
	for _, group := range rules(t).Groups {
		for _, rule := range group.Rules {
			if !fired[rule.Alert] || !silent[rule.Alert] {
				t.Errorf("%s is not played both firing and silent", rule.Alert)
			}
		}
	}
}

func readPlayed(t *testing.T, raw []byte) (file played) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	return file
}

func newEngine(t *testing.T) *promql.Engine {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: promQL,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
	})
	t.Cleanup(func() { _ = engine.Close() })
	return engine
}

func labelsOf(all map[string]string) labels.Labels { return labels.FromMap(all) }

// player evaluates rules on series, once an interval from time 0.
type player struct {
	engine   *promql.Engine
	series   series
	interval time.Duration
}

// firing returns the alerts of a name that fire at a time.
func firing(t *testing.T, p player, name string, at time.Duration) []string {
	t.Helper()
	var rule *rulefmt.Rule
	for _, group := range rules(t).Groups {
		for i := range group.Rules {
			if group.Rules[i].Alert == name {
				rule = &group.Rules[i]
			}
		}
	}
	if rule == nil {
		t.Fatalf("there is no alert %s", name)
	}
	since := map[string]time.Duration{}
	var got []string
	for now := time.Duration(0); now <= at; now += p.interval {
		got = nil
		active := map[string]time.Duration{}
		for _, sample := range p.query(t, rule.Expr, now) {
			metric := labels.NewBuilder(sample.Metric).Del(labels.MetricName).Labels()
			key := metric.String()
			active[key] = now
			if began, pending := since[key]; pending {
				active[key] = began
			}
			if now-active[key] >= time.Duration(rule.For) {
				got = append(got, p.alert(t, rule, metric, sample.F, now))
			}
		}
		since = active
	}
	slices.Sort(got)
	return got
}

func (p player) query(t *testing.T, expr string, now time.Duration) promql.Vector {
	t.Helper()
	q, err := p.engine.NewInstantQuery(t.Context(), p.series, nil, expr, time.UnixMilli(0).Add(now))
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	v, err := q.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(v)
}

// alert returns labels and annotations of an alert.
func (p player) alert(t *testing.T, rule *rulefmt.Rule, metric labels.Labels, value float64, now time.Duration) string {
	t.Helper()
	data := template.AlertTemplateData(metric.Map(), nil, "", promql.Sample{Metric: metric, F: value})
	expand := func(text string) string {
		defs := "{{$labels := .Labels}}{{$value := .Value}}"
		out, err := template.NewTemplateExpander(t.Context(), defs+text, rule.Alert, data, model.Time(now.Milliseconds()), nil, nil, nil).Expand()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	all := labels.NewBuilder(metric).Set(model.AlertNameLabel, rule.Alert)
	for name, text := range rule.Labels {
		all.Set(name, expand(text))
	}
	notes := map[string]string{}
	for name, text := range rule.Annotations {
		notes[name] = expand(text)
	}
	return fmt.Sprint(all.Labels(), labelsOf(notes))
}

// series is an in-memory storage.
type series []*storage.SeriesEntry

func parsed(t *testing.T, name, values string, interval time.Duration) *storage.SeriesEntry {
	t.Helper()
	metric, all, err := promQL.ParseSeriesDesc(name + " " + values)
	if err != nil {
		t.Fatal(err)
	}
	var samples []chunks.Sample
	for i, v := range all {
		if !v.Omitted {
			samples = append(samples, sample{int64(i) * interval.Milliseconds(), v.Value})
		}
	}
	return storage.NewListSeries(metric, samples)
}

// Querier implements storage.Queryable.
func (s series) Querier(int64, int64) (storage.Querier, error) { return querier{all: s}, nil }

// querier finds series.
type querier struct {
	storage.LabelQuerier
	all series
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &found{at: -1}
	for _, s := range q.all {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Lset.Get(m.Name)) }) {
			set.all = append(set.all, s)
		}
	}
	slices.SortFunc(set.all, func(a, b *storage.SeriesEntry) int { return strings.Compare(a.Lset.String(), b.Lset.String()) })
	return set
}

// found are the series that match.
type found struct {
	all series
	at  int
}

func (f *found) Next() bool                      { f.at++; return f.at < len(f.all) }
func (f *found) At() storage.Series              { return f.all[f.at] }
func (*found) Err() error                        { return nil }
func (*found) Warnings() annotations.Annotations { return nil }

// sample is a number at a time.
type sample struct {
	t int64
	f float64
}

func (s sample) T() int64                    { return s.t }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.f }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
