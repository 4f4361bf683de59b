// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list_test

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/list"
)

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// edit changes a HelmRelease of a test.
type edit func(*helmv2.HelmRelease)

// ready returns a HelmRelease that is ready. key is <namespace>/<name>.
func ready(key string, edits ...edit) helmv2.HelmRelease {
	namespace, name, _ := strings.Cut(key, "/")
	hr := helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1}}
	hr.Status.ObservedGeneration = 1
	condition(helmv2.ConditionReady, metav1.ConditionTrue, helmv2.ReasonUpgradeSucceeded, "Helm upgrade succeeded")(&hr)
	revision(2, "podinfo", "6.2.0", 48*time.Hour)(&hr)
	for _, e := range edits {
		e(&hr)
	}
	return hr
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) edit {
	return func(hr *helmv2.HelmRelease) {
		c := metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
		for i := range hr.Status.Conditions {
			if hr.Status.Conditions[i].Type == kind {
				hr.Status.Conditions[i] = c
				return
			}
		}
		hr.Status.Conditions = append(hr.Status.Conditions, c)
	}
}

func notReady(reason, message string) edit {
	return condition(helmv2.ConditionReady, metav1.ConditionFalse, reason, message)
}

func stalled(message string) edit {
	return func(hr *helmv2.HelmRelease) {
		notReady(helmv2.ReasonInstallFailed, message)(hr)
		condition(helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded, message)(hr)
	}
}

func label(key, value string) edit {
	return func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{key: value} }
}

// revision makes a revision the newest.
func revision(n int, chart, version string, age time.Duration) edit {
	return func(hr *helmv2.HelmRelease) {
		s := &helmv2.Snapshot{
			Version: n, ChartName: chart, ChartVersion: version, Action: helmv2.ActionUpgrade, Status: helmv2.StatusDeployed,
			LastDeployed: metav1.NewTime(now.Add(-age)),
		}
		hr.Status.History = append(helmv2.Snapshots{s}, hr.Status.History...)
	}
}

func query(t *testing.T, text string) list.Query {
	t.Helper()
	values, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	q, problems := list.ParseReleases(values)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return q
}

func TestParse(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                 nil,
		"namespace=apps&state=Failing":     nil,
		"selector=team%3Dx,tier+in+(a,b)":  nil,
		"drifted=true&page=3&q=a+b":        nil,
		"state=&page=&drifted=&namespace=": nil,
		"state=Broken":                     {`parameter "state": "Broken" is none of Stalled, Failing, Rejected, Waiting, Held, Deleting, Progressing, Suspended, Ready`},
		"page=0":                           {`parameter "page": "0" is not a number from 1 to 100000`},
		"page=x":                           {`parameter "page": "x" is not a number from 1 to 100000`},
		"page=100001":                      {`parameter "page": "100001" is not a number from 1 to 100000`},
		"drifted=yes":                      {`parameter "drifted": "yes" is not true`},
		"q=a&q=b":                          {`parameter "q": given 2 times instead of once`},
		"q=" + strings.Repeat("a", 501):    {`parameter "q": longer than 500 bytes, or not UTF-8`},
		"q=%ff":                            {`parameter "q": longer than 500 bytes, or not UTF-8`},
		"namespaces=apps":                  {`parameter "namespaces": unknown; known are cause, chart, drifted, namespace, page, q, selector, state`},
		"page=0&state=x":                   {`parameter "page": "0" is not`, `parameter "state": "x" is none`},
		"selector=a%3D%3D%3Db":             {`parameter "selector": "a===b" is not a label selector: `},
		"namespace=A_b":                    {`parameter "namespace": a lowercase RFC 1123 label must`},
	} {
		values, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		_, problems := list.ParseReleases(values)
		ok := len(problems) == len(want)
		for i := range problems {
			ok = ok && strings.HasPrefix(problems[i], want[i])
		}
		if !ok {
			t.Errorf("%s: got %q, want %q", text, problems, want)
		}
	}
}

// link returns the address of a query.
func link(q list.Query) string {
	if parameters := url.Values(q.Parameters()); len(parameters) > 0 {
		return "/?" + parameters.Encode()
	}
	return "/"
}

func TestParametersKeepTheQuery(t *testing.T) {
	for _, text := range []string{"", "chart=a%26b&namespace=apps&page=2&q=x+y&selector=a%3Db&state=Ready", "drifted=true"} {
		want := "/"
		if text != "" {
			want = "/?" + text
		}
		if got := link(query(t, text)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// fleet has a release of each kind that the overview shows.
func fleet() []helmv2.HelmRelease {
	return []helmv2.HelmRelease{
		ready("apps/web", label("team", "a"), revision(3, "podinfo", "6.3.0", 3*time.Hour)),
		ready("apps/api", label("team", "b"), condition(helmv2.ConditionDrifted, metav1.ConditionTrue, "DriftDetected", "2 objects")),
		ready("apps/crash", stalled("Deployment apps/crash: CrashLoop\nsecond line")),
		ready("data/db", notReady(helmv2.ReasonUpgradeFailed, "StatefulSet data/db: ImagePull"), revision(3, "postgres", "1.0.0", time.Minute)),
		ready("data/new", notReady(helmv2.ReasonDependencyNotReady, "dependency data/db is not ready"), func(hr *helmv2.HelmRelease) {
			hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "db"}}
			hr.Status.History = nil
			hr.Spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{Chart: "cache"}}
		}),
		ready("data/frozen", notReady(helmv2.ReasonFrozen, "policy freeze: weekend")),
		ready("data/plan", notReady(helmv2.ReasonAwaitingApproval, "plan data/plan-1 awaits approval")),
	}
}

func names(o *list.Overview) string {
	var all []string
	for _, r := range o.Rows {
		all = append(all, r.Namespace+"/"+r.Name)
	}
	return strings.Join(all, " ")
}

func TestFilters(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "apps/crash data/db data/frozen data/new data/plan apps/api apps/web",
		"namespace=apps":        "apps/crash apps/api apps/web",
		"namespace=app":         "",
		"selector=team":         "apps/api apps/web",
		"selector=team%3Da":     "apps/web",
		"state=Waiting":         "data/frozen data/new data/plan",
		"chart=postgres":        "data/db",
		"chart=cache":           "data/new",
		"chart=post":            "",
		"drifted=true":          "apps/api",
		"q=CRASHLOOP":           "apps/crash",
		"q=image+statefulset":   "data/db",
		"q=image+crash":         "",
		"q=postgres":            "data/db",
		"q=apps/w":              "apps/web",
		"q=approval+of":         "data/plan",
		"q=upgradefailed":       "data/db",
		"namespace=data&q=db":   "data/db data/new",
		"state=Ready&q=podinfo": "apps/api apps/web",

		"state=Ready&drifted=true":   "apps/api",
		"state=Failing&drifted=true": "",
	} {
		if got := names(list.OverviewOf(fleet(), query(t, text), now)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestCounts(t *testing.T) {
	text := func(o *list.Overview) string {
		var all []string
		for _, c := range o.Counts {
			s := fmt.Sprintf("%s %d %s", c.Name, c.N, link(c.Query))
			if c.Selected {
				s += " *"
			}
			all = append(all, s)
		}
		return strings.Join(all, "; ")
	}
	for q, want := range map[string]string{
		"":                                  "All 7 / *; Stalled 1 /?state=Stalled; Failing 1 /?state=Failing; Waiting 3 /?state=Waiting; Ready 2 /?state=Ready; Drifted 1 /?drifted=true",
		"namespace=apps&state=Ready&page=1": "All 3 /?namespace=apps; Stalled 1 /?namespace=apps&state=Stalled; Ready 2 /?namespace=apps&state=Ready *; Drifted 1 /?drifted=true&namespace=apps&state=Ready",
		"state=Ready&drifted=true":          "All 7 /; Ready 1 /?drifted=true&state=Ready *; Drifted 1 /?drifted=true&state=Ready *",
		"drifted=true":                      "All 7 /; Ready 1 /?drifted=true&state=Ready; Drifted 1 /?drifted=true *",
		"state=Held":                        "All 7 /; Stalled 1 /?state=Stalled; Failing 1 /?state=Failing; Waiting 3 /?state=Waiting; Held 0 /?state=Held *; Ready 2 /?state=Ready",
		"q=nothing&drifted=true":            "All 0 /?q=nothing; Drifted 0 /?drifted=true&q=nothing *",
	} {
		o := list.OverviewOf(fleet(), query(t, q), now)
		if got := text(o); got != want {
			t.Errorf("%s: got\n%s, want\n%s", q, got, want)
		}
		if o.Total != 7 || o.Attention != 2 {
			t.Errorf("%s: total %d, attention %d", q, o.Total, o.Attention)
		}
	}
}

func TestLists(t *testing.T) {
	o := list.OverviewOf(fleet(), query(t, ""), now)
	waiting := []list.Item{
		{Namespace: "data", Name: "plan", State: view.Waiting, Wait: view.WaitForApproval, Line: "approval of its plan"},
		{Namespace: "data", Name: "frozen", State: view.Waiting, Wait: view.WaitForFreeze, Line: "policy freeze: weekend"},
		{Namespace: "data", Name: "new", State: view.Waiting, Wait: view.WaitForDependency, Line: "data/db"},
	}
	if !reflect.DeepEqual(o.Waiting.Entries, waiting) {
		t.Errorf("waiting: %+v", o.Waiting)
	}
	changes := []list.Change{
		{Namespace: "data", Name: "db", Revision: 3, Action: helmv2.ActionUpgrade, Status: helmv2.StatusDeployed, Chart: "postgres", To: "1.0.0", Age: view.AgeOf(now.Add(-time.Minute), now)},
		{Namespace: "apps", Name: "web", Revision: 3, Action: helmv2.ActionUpgrade, Status: helmv2.StatusDeployed, Chart: "podinfo", From: "6.2.0", To: "6.3.0", Age: view.AgeOf(now.Add(-3*time.Hour), now)},
	}
	if !reflect.DeepEqual(o.Changes.Entries, changes) {
		t.Errorf("changes: %+v", o.Changes)
	}
	for _, q := range []string{"q=web", "state=Failing", "cause=Failed", "drifted=true", "page=2"} {
		if o := list.OverviewOf(fleet(), query(t, q), now); o.Wrong+o.Waiting.Len()+o.Changes.Len() > 0 {
			t.Errorf("%s: lists are not empty", q)
		}
	}
	if o := list.OverviewOf(fleet(), query(t, "namespace=apps"), now); o.Wrong != 1 || o.Waiting.Len() != 0 || o.Changes.Len() != 1 {
		t.Errorf("of a namespace: %d wrong, %d waiting, %d changes", o.Wrong, o.Waiting.Len(), o.Changes.Len())
	}
}

func TestWaits(t *testing.T) {
	held := func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{helmv2.AnnotationRollbackTo: "4"}
		condition(helmv2.ConditionRolledBack, metav1.ConditionTrue, helmv2.ReasonRolledBack, "")(hr)
		condition(helmv2.ConditionReady, metav1.ConditionTrue, helmv2.ReasonRolledBack, "")(hr)
	}
	for want, e := range map[view.Wait]edit{
		view.WaitForSource:    notReady(helmv2.ReasonSourceNotReady, "m"),
		view.WaitForServer:    notReady(helmv2.ReasonInterrupted, "m"),
		view.WaitForRetry:     notReady(helmv2.ReasonDryRunDenied, "m"),
		view.WaitForPolicies:  notReady(helmv2.ReasonPolicyUnavailable, "m"),
		view.WaitForPlan:      notReady(helmv2.ReasonPlanFailed, "m"),
		view.WaitForOperation: condition(helmv2.ConditionLocked, metav1.ConditionTrue, "r", "m"),
		view.WaitForHold:      held,
		view.WaitForChange:    notReady(helmv2.ReasonRejected, "m"),
	} {
		o := list.OverviewOf([]helmv2.HelmRelease{ready("a/b", e)}, query(t, ""), now)
		if len(o.Waiting.Entries) != 1 || o.Waiting.Entries[0].Wait != want || len(o.Waits) != 1 || o.Waits[0].Wait != want {
			t.Errorf("%s: got %+v", want, o.Waiting)
		}
	}
}

func TestChanges(t *testing.T) {
	uninstalled := func(hr *helmv2.HelmRelease) {
		hr.Status.History[0].Action, hr.Status.History[0].Deleted = helmv2.ActionUninstall, metav1.NewTime(now.Add(-time.Hour))
	}
	for name, tc := range map[string]struct {
		edits []edit
		want  string
	}{
		"older than a day":       {nil, ""},
		"no revision":            {[]edit{func(hr *helmv2.HelmRelease) { hr.Status.History = nil }}, ""},
		"same version":           {[]edit{revision(3, "podinfo", "6.2.0", time.Hour)}, "3 podinfo  -> 6.2.0, 60m"},
		"other chart":            {[]edit{revision(3, "other", "1.0.0", time.Hour)}, "3 other  -> 1.0.0, 60m"},
		"uninstalled":            {[]edit{uninstalled}, "2 podinfo  -> 6.2.0, 60m"},
		"clock behind by little": {[]edit{revision(3, "podinfo", "6.3.0", -time.Second)}, "3 podinfo 6.2.0 -> 6.3.0, 0s"},
	} {
		got := ""
		for _, c := range list.OverviewOf([]helmv2.HelmRelease{ready("a/b", tc.edits...)}, query(t, ""), now).Changes.Entries {
			got += fmt.Sprintf("%d %s %s -> %s, %s", c.Revision, c.Chart, c.From, c.To, c.Ago)
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestPages(t *testing.T) {
	var all []helmv2.HelmRelease
	for i := range 120 {
		all = append(all, ready(fmt.Sprintf("apps/r%03d", i), stalled("m"), revision(3, "podinfo", "6.3.0", time.Hour)))
	}
	page := func(q *list.Query) string {
		if q == nil {
			return ""
		}
		return link(*q)
	}
	for text, want := range map[string]string{
		"":                "1-50 of 120, page 1/3, previous , next /?page=2",
		"page=2":          "51-100 of 120, page 2/3, previous /, next /?page=3",
		"page=3":          "101-120 of 120, page 3/3, previous /?page=2, next ",
		"page=99":         "101-120 of 120, page 3/3, previous /?page=2, next ",
		"q=r00&page=5":    "1-10 of 10, page 1/1, previous , next ",
		"q=none":          "0-0 of 0, page 1/1, previous , next ",
		"namespace=other": "0-0 of 0, page 1/1, previous , next ",
	} {
		o := list.OverviewOf(all, query(t, text), now)
		got := fmt.Sprintf("%d-%d of %d, page %d/%d, previous %s, next %s", o.First, o.Last, o.Matching, o.Page, o.Pages, page(o.Previous), page(o.Next))
		if got != want || len(o.Rows) != max(0, o.Last-o.First+min(1, o.Last)) {
			t.Errorf("%s: got %s with %d rows, want %s", text, got, len(o.Rows), want)
		}
	}
	o := list.OverviewOf(all, query(t, ""), now)
	if len(o.Changes.Entries) != 8 || o.Changes.More != 112 {
		t.Errorf("a list of %d", len(o.Changes.Entries))
	}
}

func TestLine(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for message, want := range map[string]string{
		"":              "",
		" a \n":         "a",
		"a\nb":          "a",
		long:            strings.TrimSpace(strings.Repeat("word ", 48)) + " …",
		long + "\nnext": strings.TrimSpace(strings.Repeat("word ", 48)) + " …",
	} {
		o := list.OverviewOf([]helmv2.HelmRelease{ready("a/b", stalled(message))}, query(t, ""), now)
		if got := o.Rows[0].Line; got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}

func TestOptionsOfFilters(t *testing.T) {
	o := list.OverviewOf(fleet(), query(t, "namespace=apps"), now)
	if got := fmt.Sprint(o.Namespaces, o.Charts); got != "[apps data] [cache podinfo postgres]" {
		t.Error(got)
	}
}

// BenchmarkOf measures the overview of 3,000 releases.
func BenchmarkOf(b *testing.B) {
	var all []helmv2.HelmRelease
	for i := range 3000 {
		key := fmt.Sprintf("team-%02d/release-%04d", i%60, i)
		switch i % 20 {
		case 0:
			all = append(all, ready(key, stalled(strings.Repeat("Deployment apps/crash: CrashLoop ", 20))))
		case 1:
			all = append(all, ready(key, notReady(helmv2.ReasonDependencyNotReady, "dependency is not ready"), func(hr *helmv2.HelmRelease) {
				hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "release-0000"}, {Name: "release-0001"}}
			}))
		default:
			all = append(all, ready(key, label("team", "a"), revision(3, fmt.Sprintf("chart-%d", i%50), "6.3.0", time.Duration(i)*time.Minute)))
		}
	}
	for name, text := range map[string]string{"all": "", "search": "q=crashloop+release-1", "selector": "selector=team%3Da&page=9"} {
		values, err := url.ParseQuery(text)
		if err != nil {
			b.Fatal(err)
		}
		q, _ := list.ParseReleases(values)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				list.OverviewOf(all, q, now)
			}
		})
	}
}
