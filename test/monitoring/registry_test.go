// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests the alert rules and the dashboard in config/monitoring: they are
// valid, name only metrics and labels that the controller has, and the alerts fire as expected.
package monitoring

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	// Registers the metrics of work queues and of reconciliations.
	_ "sigs.k8s.io/controller-runtime/pkg/controller"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pintle-dev/pintle/internal/metrics"
)

// described matches name and variable labels in the text of a Desc, which has no accessors.
var described = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: .*, constLabels: \{.*\}, variableLabels: \{([^}]*)\}\}$`)

// exposed returns the labels of every metric that the controller registers at its start, by the
// names of its series.
func exposed(t *testing.T) map[string][]string {
	t.Helper()
	var twice prometheus.AlreadyRegisteredError
	if _, err := metrics.New(crmetrics.Registry); err != nil && !errors.As(err, &twice) {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for name, labels := range describedBy(t, crmetrics.Registry.(prometheus.Collector)) {
		// A Desc does not contain the type: each may be a histogram.
		for _, suffix := range []string{"", "_count", "_sum"} {
			all[name+suffix] = labels
		}
		all[name+"_bucket"] = append(slices.Clone(labels), "le")
	}
	return all
}

// describedBy returns the labels of all metrics of a registry, including those without series.
func describedBy(t *testing.T, registry prometheus.Collector) map[string][]string {
	t.Helper()
	descs := make(chan *prometheus.Desc, 1000)
	registry.Describe(descs)
	close(descs)
	all := map[string][]string{}
	for d := range descs {
		found := described.FindStringSubmatch(d.String())
		if found == nil {
			t.Fatalf("%s has an unexpected format", d)
		}
		all[found[1]] = strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' })
	}
	return all
}

// TestMetricsAreValid: the metrics that the controller serves pass promlint, as with
// `promtool check metrics`.
func TestMetricsAreValid(t *testing.T) {
	registry, families := served(t)
	problems, err := promlint.New(text(t, families)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v: %v", problems, err)
	}
	missing := describedBy(t, registry)
	for _, f := range families {
		delete(missing, f.GetName())
	}
	if len(missing) > 0 {
		t.Errorf("no series was checked of %v", missing)
	}
}

// served returns a registry and the families of every metric, each with a series.
func served(t *testing.T) (*prometheus.Registry, []*dto.MetricFamily) {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	everySeries(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return registry, families
}

func text(t *testing.T, families []*dto.MetricFamily) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	return &out
}
