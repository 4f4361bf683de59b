// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests that the alert rules and the dashboard in
// config/monitoring can be read by those they are for, name nothing that the
// controller does not have, and say what they should.
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
	// It registers the metrics of queues and of visits.
	_ "sigs.k8s.io/controller-runtime/pkg/controller"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pintle-dev/pintle/internal/metrics"
)

// described finds name and variable labels in the words of a Desc, which has no
// other way of telling them.
var described = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: .*, constLabels: \{.*\}, variableLabels: \{([^}]*)\}\}$`)

// exposed returns the labels of every metric that the controller can have, by the
// names of their series. They are what is registered when it starts.
func exposed(t *testing.T) map[string][]string {
	t.Helper()
	var twice prometheus.AlreadyRegisteredError
	if _, err := metrics.New(crmetrics.Registry); err != nil && !errors.As(err, &twice) {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for name, labels := range describedBy(t, crmetrics.Registry.(prometheus.Collector)) {
		// What it is nobody tells: any of them may be a histogram.
		for _, suffix := range []string{"", "_count", "_sum"} {
			all[name+suffix] = labels
		}
		all[name+"_bucket"] = append(slices.Clone(labels), "le")
	}
	return all
}

// describedBy returns the labels of all metrics of a registry, those without series
// included.
func describedBy(t *testing.T, registry prometheus.Collector) map[string][]string {
	t.Helper()
	descs := make(chan *prometheus.Desc, 1000)
	registry.Describe(descs)
	close(descs)
	all := map[string][]string{}
	for d := range descs {
		found := described.FindStringSubmatch(d.String())
		if found == nil {
			t.Fatalf("%s is not as this test knows it", d)
		}
		all[found[1]] = strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' })
	}
	return all
}

// TestMetricsAreValid does what `promtool check metrics` does with what the
// controller serves: it parses and lints.
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
		t.Errorf("there was no series to look at of %v", missing)
	}
}

// served returns a series of every metric, and where they are registered.
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
