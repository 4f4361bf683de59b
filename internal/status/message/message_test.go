// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the messages in the documentation")

// page has the texts of messages between these two lines.
const (
	page  = "../../../docs/spec/problems.md"
	begin = "<!-- messages: written by go test ./internal/status/message -rewrite -->"
	end   = "<!-- end of messages -->"
)

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// facts fills all placeholders.
var facts = message.Facts{
	Subject: "Upgrade to web 1.1.0", Cause: "it broke", Remedy: "Create the missing object, or correct its name",
	Runs:   "Chart web 1.0.0 runs again (revision 7, as revision 5)",
	Action: "upgrade", Release: "apps/web", Chart: "web@1.0.0", Revision: "7", Interval: "5m", Again: "Retrying every 5m",
	Until: "2026-01-01T12:00:00Z", Object: "web -n apps",
}

// TestRows: each message has three parts, in the words of the project, without placeholders that no
// fact fills. A message that changes with time would be a write and an event at each reconciliation.
func TestRows(t *testing.T) {
	pronoun := regexp.MustCompile(`(^|[.:] )(It|They|This|That|He)\b`)
	past := map[message.Kind]bool{}
	for _, r := range message.Rows() {
		t.Run(string(r.About)+"/"+string(r.Kind), func(t *testing.T) {
			if past[r.Kind] {
				t.Error("two rows have this kind")
			}
			past[r.Kind] = true
			if r.What == "" || r.Left == "" || r.Next == "" || len(r.Reasons) == 0 {
				t.Fatalf("a part or the reason is missing: %+v", r)
			}
			for _, part := range []string{r.Left, r.Next} {
				if strings.HasSuffix(part, ".") || strings.Contains(part, "\n") {
					t.Errorf("%q is not the text of a sentence in one line", part)
				}
				if first := part[0]; first != '{' && (first < 'A' || first > 'Z') {
					t.Errorf("%q does not begin a sentence", part)
				}
				if pronoun.MatchString(part) {
					t.Errorf("the subject of %q is no noun", part)
				}
				for sentence := range strings.SplitSeq(part, ". ") {
					if n := len(strings.Fields(sentence)); n > 25 {
						t.Errorf("%d words: %q", n, sentence)
					}
				}
			}
			got := message.Of(r.Kind, facts)
			if text := got.String(); placeholder.MatchString(text) {
				t.Errorf("a placeholder stays: %q", text)
			}
			if n := len(got.Left) + len(got.Next); n > 150 {
				t.Errorf("%d of 240 characters are left for the cause: %q", 240-n, got)
			}
		})
	}
}

// notWaiting are the reasons of the API without a row, and why they need none.
func notWaiting() map[string]string {
	return map[string]string{
		"InstallSucceeded": "a success", "UpgradeSucceeded": "a success", "TestSucceeded": "a success",
		"NoDriftDetected": "a success", "DriftCorrected": "a success",
		"AwaitingTests":        "tests that run next",
		"ProgressingWithRetry": "of Reconciling, with the message of Ready",
		"RollbackExpired":      "the end of a hold",
		"DriftDetected":        "its message lists the objects", "DriftCorrectionFailed": "its message lists the objects",
		"DriftCeded":          "an event about fields that were left to an autoscaler",
		"HealthCheckCanceled": "an event about outdated inputs",
		"FactoryError":        "of helm-controller only", "ConfigFactoryErr": "of helm-controller only",
		"ResourceManagerError": "of helm-controller only",
	}
}

// TestReasons: each reason of a HelmRelease that is not ready has a row, and each row has a reason of
// the API.
func TestReasons(t *testing.T) {
	declared := declaredReasons(t, "../../../api/v2/condition_types.go", "../../../api/v2/own_types.go")
	var used []string
	for _, r := range message.Rows() {
		if r.About == message.HelmRelease {
			used = append(used, r.Reasons...)
		}
	}
	for _, reason := range declared {
		_, excepted := notWaiting()[reason]
		switch has := slices.Contains(used, reason); {
		case !has && !excepted:
			t.Errorf("reason %s has no row", reason)
		case has && excepted:
			t.Errorf("reason %s has a row, and an exception", reason)
		}
	}
	for _, reason := range used {
		if !slices.Contains(declared, reason) {
			t.Errorf("%s is no reason of the API", reason)
		}
	}
	operations := declaredReasons(t, "../../../api/ops/v1alpha1/condition_types.go")
	for _, r := range message.Rows() {
		for _, reason := range r.Reasons {
			if r.About == message.Operation && !slices.Contains(operations, reason) {
				t.Errorf("%s is no reason of Operations", reason)
			}
		}
	}
}

// declaredReasons returns the values of the constants in files whose names begin with Reason.
func declaredReasons(t *testing.T, files ...string) []string {
	t.Helper()
	var all []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") || len(spec.Values) == 0 {
				return true
			}
			if text, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, value)
			}
			return true
		})
	}
	return all
}

// TestDocumented: the texts in the documentation are those of the source.
func TestDocumented(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no list of messages", page)
	}
	want := before + begin + "\n\n" + parts() + "\n" + end + after
	if want == string(raw) {
		return
	}
	if !*rewrite {
		t.Fatalf("%s has other messages than the source: go test ./internal/status/message -rewrite", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil { // a source file
		t.Fatal(err)
	}
}

// parts returns the texts of all messages as Markdown: a list for each part, and each text once.
func parts() string {
	var lists []string
	for _, part := range []struct {
		title string
		of    func(message.Row) string
	}{
		{"What is wrong", func(r message.Row) string { return r.What }},
		{"What was left alone", func(r message.Row) string { return r.Left }},
		{"What happens next, or what to do", func(r message.Row) string { return r.Next }},
	} {
		lines := []string{"**" + part.title + "**\n"}
		for _, r := range message.Rows() {
			shown := placeholder.ReplaceAllStringFunc(part.of(r), func(p string) string { return "*" + strings.Trim(p, "{}") + "*" })
			if line := "- " + shown; !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		lists = append(lists, strings.Join(lines, "\n")+"\n")
	}
	return strings.Join(lists, "\n")
}

// TestString: the cause comes first and in one line, and a long one does not hide the other parts.
func TestString(t *testing.T) {
	for name, tc := range map[string]struct {
		parts message.Parts
		want  string
	}{
		"Three":      {message.Parts{What: "it broke", Left: "Nothing was changed", Next: "Wait"}, "it broke. Nothing was changed. Wait."},
		"Period":     {message.Parts{What: "it broke.", Left: "Nothing was changed", Next: "Wait"}, "it broke. Nothing was changed. Wait."},
		"Lines":      {message.Parts{What: "it broke:\n  - here\n  - there\n", Left: "Nothing was changed", Next: "Wait"}, "it broke: - here - there. Nothing was changed. Wait."},
		"Only":       {message.Parts{What: "it works"}, "it works"},
		"Details":    {message.Parts{What: "it broke", Next: "Wait", Details: "Helm: it broke"}, "it broke. Wait.\nHelm: it broke"},
		"Long":       {message.Parts{What: strings.Repeat("x", 300), Left: "Nothing was changed", Next: "Wait"}, strings.Repeat("x", 104) + "..." + strings.Repeat("x", 105) + ". Nothing was changed. Wait.\n" + strings.Repeat("x", 300)},
		"Quoted":     {message.Parts{What: strings.Repeat("x", 300), Next: "Wait", Details: "Helm: " + strings.Repeat("x", 300)}, strings.Repeat("x", 115) + "..." + strings.Repeat("x", 115) + ". Wait.\nHelm: " + strings.Repeat("x", 300)},
		"Characters": {message.Parts{What: strings.Repeat("ä", 20000), Left: "Nothing was changed", Next: "Wait"}, strings.Repeat("ä", 52) + "..." + strings.Repeat("ä", 52) + ". Nothing was changed. Wait.\n" + strings.Repeat("ä", 16262) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.parts.String()
			if len(got) > 32768 {
				t.Errorf("%d bytes", len(got))
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestFacts: braces in the text of a chart are no placeholders.
func TestFacts(t *testing.T) {
	got := message.What(message.Rejected, message.Facts{Subject: "Install of web 1", Cause: "{{ .x }} {action}"})
	if want := "Install of web 1 failed: {{ .x }} {action}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestObstacle: an obstacle says when it is tried again, and what to do if that is known.
func TestObstacle(t *testing.T) {
	for name, tc := range map[string]struct {
		blocked release.Blocked
		want    string
	}{
		"Backoff": {
			release.Blocked{Reason: helmv2.ReasonStateError, Message: "no storage", Retry: release.Backoff()},
			"no storage. Nothing was changed. Retrying with back-off.",
		},
		"Todo": {
			release.Blocked{Reason: helmv2.ReasonStateError, Message: "no right", Todo: "Bind a role", Retry: release.Backoff()},
			"no right. Nothing was changed. Bind a role. Retrying with back-off.",
		},
		"Interval": {
			release.Blocked{Reason: helmv2.ReasonSourceNotReady, Message: "no artifact", Retry: release.Interval(30 * time.Second)},
			"no artifact. Nothing was changed. Retrying every 30s, and at once after a change of the source.",
		},
		"Terminal": {
			release.Blocked{Reason: helmv2.ReasonUnsupportedField, Message: "spec.x is not supported", Terminal: true},
			"spec.x is not supported. Nothing was changed. Change the spec.",
		},
		"TerminalTodo": {
			release.Blocked{Reason: helmv2.ReasonUnsupportedField, Message: "spec.x is not supported", Terminal: true, Todo: "Use spec.y"},
			"spec.x is not supported. Nothing was changed. Use spec.y.",
		},
		"Progressing": {
			release.Blocked{Reason: helmv2.ReasonArtifactFailed, Message: "downloading", Progressing: true},
			"downloading. Nothing was changed. The work goes on, and its end triggers the next step.",
		},
		"UnknownReason": {
			release.Blocked{Reason: "Other", Message: "it broke", Retry: release.After(time.Hour)},
			"it broke. Nothing was changed. Retrying every 1h.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := message.Obstacle(&tc.blocked).String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestFailure: the next action of a failure is that of the decision.
func TestFailure(t *testing.T) {
	const install, upgrade = helmv2.ActionInstall, helmv2.ActionUpgrade
	for name, tc := range map[string]struct {
		failure message.Failure
		want    message.Kind
	}{
		"Rejected":         {message.Failure{Action: install, Rejected: true, Failures: 3}, message.Rejected},
		"RejectedThenDone": {message.Failure{Action: upgrade, Rejected: true, RolledBack: true, Failures: 3}, message.RolledBack},
		"Strategy":         {message.Failure{Action: install, Policy: release.ActionPolicy{Retry: true}, Failures: 9}, message.RetriedRegularly},
		"Last":             {message.Failure{Action: upgrade, Failures: 1, Target: 1}, message.NoRetries},
		"RemediateLast":    {message.Failure{Action: upgrade, Policy: release.ActionPolicy{RemediateLast: true}, Failures: 1, Target: 1}, message.RolledBackNext},
		"NoTarget":         {message.Failure{Action: upgrade, Policy: release.ActionPolicy{Retries: 1}, Failures: 1}, message.NoTarget},
		"Install":          {message.Failure{Action: install, Policy: release.ActionPolicy{Retries: 1}, Failures: 1}, message.UninstalledNext},
		"UninstallUpgrade": {message.Failure{Action: upgrade, Policy: release.ActionPolicy{Retries: 1, Uninstall: true}, Failures: 1, Target: 1}, message.UninstalledNext},
		"ClaimsKept":       {message.Failure{Action: install, Policy: release.ActionPolicy{ClaimsKept: true}, Failures: 1}, message.ClaimsKept},
		"ClaimsNoTarget":   {message.Failure{Action: upgrade, Policy: release.ActionPolicy{ClaimsKept: true, RemediateLast: true}, Failures: 1}, message.ClaimsKept},
		"ClaimsRolledBack": {message.Failure{Action: upgrade, Policy: release.ActionPolicy{ClaimsKept: true, RemediateLast: true}, Failures: 1, Target: 1}, message.RolledBackNext},
		"RolledBack":       {message.Failure{Action: upgrade, Policy: release.ActionPolicy{Retries: 1}, Failures: 1, RolledBack: true}, message.RolledBack},
		"Uninstalled":      {message.Failure{Action: install, Policy: release.ActionPolicy{Retries: 1}, Failures: 1, Uninstalled: true}, message.Uninstalled},
		"UninstalledLast":  {message.Failure{Action: install, Policy: release.ActionPolicy{Retries: 1}, Failures: 2, Uninstalled: true}, message.Uninstalled},
		"RemedyFailed":     {message.Failure{Action: upgrade, Failures: 1, RemedyFailed: true}, message.RollbackFailed},
		"TestsOnly":        {message.Failure{}, message.TestOnly},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.failure.Kind(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
