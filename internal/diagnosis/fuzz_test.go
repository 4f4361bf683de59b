// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/diagnosis"
)

const canary = "c4nary-0f-a-secret"

// FuzzFind: any facts have a finding within the limits, without secrets.
func FuzzFind(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		above, _, _ := strings.Cut(string(raw), below)
		facts, err := yaml.YAMLToJSON([]byte(above))
		if err != nil {
			f.Fatal(err)
		}
		// The canary replaces a part of the texts from the cluster.
		f.Add(strings.ReplaceAll(string(facts), "not found", canary+" not found"), "it is "+canary)
	}
	f.Fuzz(func(t *testing.T, raw, log string) {
		var facts diagnosis.Facts
		if json.Unmarshal([]byte(raw), &facts) != nil {
			return
		}
		if strings.Contains(facts.Name+facts.Namespace+facts.Kind+facts.Role, canary) {
			return
		}
		facts.Secrets = append(facts.Secrets, canary)
		facts.Logs = append(facts.Logs, diagnosis.Log{Container: "main", Text: log})
		found := diagnosis.Find(facts)
		if found.Code == "" || found.Mark == "" || len(found.Summary) > diagnosis.MaxSummary {
			t.Errorf("%d bytes: %+v", len(found.Summary), found)
		}
		if strings.ContainsFunc(found.Summary, unicode.IsControl) || !utf8.ValidString(found.Summary) {
			t.Errorf("not one line: %q", found.Summary)
		}
		for _, l := range found.Logs {
			if strings.Contains(l.Text, canary) || len(l.Text) > diagnosis.MaxLogBytes {
				t.Errorf("log is %d bytes: %s", len(l.Text), l.Text)
			}
		}
		if again := diagnosis.Find(facts); again.Summary != found.Summary || again.Mark != found.Mark {
			t.Errorf("%+v, and then %+v", found, again)
		}
	})
}

// TestCanary: a secret is redacted in every text that comes from the cluster.
func TestCanary(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		above, _, _ := strings.Cut(string(raw), below)
		var facts diagnosis.Facts
		if err := yaml.Unmarshal([]byte(above), &facts); err != nil {
			t.Fatal(err)
		}
		said := "it is " + canary + " and not found"
		facts.Status = said
		facts.Logs = append(facts.Logs, diagnosis.Log{Container: "main", Text: said})
		for i := range facts.Conditions {
			facts.Conditions[i].Message += said
		}
		for i := range facts.Events {
			facts.Events[i].Message += said
		}
		for i := range facts.Pods {
			p := &facts.Pods[i].Status
			p.Message += said
			for j := range p.Conditions {
				p.Conditions[j].Message += said
			}
			for j := range p.ContainerStatuses {
				s := &p.ContainerStatuses[j]
				if s.State.Waiting != nil {
					s.State.Waiting.Message += said
				}
				for _, end := range []*string{message(s.State.Terminated), message(s.LastTerminationState.Terminated)} {
					if end != nil {
						*end += said
					}
				}
			}
		}
		if got := format(diagnosis.Find(facts)); !strings.Contains(got, canary) {
			t.Errorf("%s: the canary is missing although it is no secret:\n%s", file, got)
		}
		facts.Secrets = append(facts.Secrets, canary)
		if got := format(diagnosis.Find(facts)); strings.Contains(got, canary) || strings.Contains(got, canary[:10]) {
			t.Errorf("%s:\n%s", file, got)
		}
	}
}

func message(end *corev1.ContainerStateTerminated) *string {
	if end == nil {
		return nil
	}
	return &end.Message
}
