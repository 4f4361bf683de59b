// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestStable: times, and names, UIDs and addresses of Pods are removed; all other text stays.
func TestStable(t *testing.T) {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-6f-x7k2p", UID: "8d9c0f9e-0000-4000-8000-000000000001"},
		Status:     corev1.PodStatus{PodIP: "10.244.0.3", PodIPs: []corev1.PodIP{{IP: "10.244.0.3"}, {IP: "fd00::3"}}},
	}
	f := Facts{Kind: "Deployment", Namespace: "apps", Name: "web", Pods: []corev1.Pod{pod}}
	for name, tc := range map[string]struct{ text, want string }{
		"Empty":         {"", ""},
		"RFC3339":       {"2026-05-28T12:00:00.123456Z cannot reach the database", "cannot reach the database"},
		"Offset":        {"at 2026-05-28T12:00:00+02:00 it broke", "at it broke"},
		"Slashes":       {"2026/05/28 12:00:00 cannot reach the database", "cannot reach the database"},
		"Brackets":      {"[2026-05-28 12:00:00,123] ERROR no license", "ERROR no license"},
		"Parentheses":   {"no license (12:00:00)", "no license"},
		"Klog":          {"E0528 12:00:00.123456       1 main.go:23] no license", "E main.go:23] no license"},
		"Syslog":        {"May 28 12:00:00 no license", "no license"},
		"AccessLog":     {`"GET /" [28/May/2026:12:00:00 +0000] 500`, `"GET /" 500`},
		"Logfmt":        {`time="2026-05-28T12:00:00Z" level=error msg="no license"`, `level=error msg="no license"`},
		"JSON":          {`{"time":"2026-05-28T12:00:00Z","level":"ERROR","msg":"no license"}`, `{"level":"ERROR","msg":"no license"}`},
		"Zap":           {`{"level":"error","ts":1779969600.1234567,"msg":"no license"}`, `{"level":"error","msg":"no license"}`},
		"ZapExponent":   {"1.7799696001234567e+09 ERROR no license", "ERROR no license"},
		"Millis":        {"1779969600123 no license", "no license"},
		"PodName":       {"no route from web-6f-x7k2p", "no route from web"},
		"Kubelet":       {"Back-off restarting failed container main in pod web-6f-x7k2p_apps(8d9c0f9e-0000-4000-8000-000000000001)", "Back-off restarting failed container main in pod web_apps"},
		"UnknownPod":    {`pods "web-6f-zzzzz" is forbidden: exceeded quota: small`, `pods "web" is forbidden: exceeded quota: small`},
		"Address":       {`Get "http://10.244.0.3:8080/": dial tcp 10.244.0.3:8080: connection refused`, `Get "http://<pod>:8080/": dial tcp <pod>:8080: connection refused`},
		"OtherAddress":  {"dial tcp 10.96.0.10:5432: connection refused", "dial tcp 10.96.0.10:5432: connection refused"},
		"LongerAddress": {"dial tcp 10.244.0.33:5432: connection refused", "dial tcp 10.244.0.33:5432: connection refused"},
		"OtherNames":    {`secret "web-https" not found`, `secret "web-https" not found`},
		"Version":       {"cannot pull example.com/web:2026.05.28 or v2026-05-28", "cannot pull example.com/web:2026.05.28 or v2026-05-28"},
		"Bytes":         {"of 1073741824 bytes, in 5m0s", "of 1073741824 bytes, in 5m0s"},
		"PlainSentence": {"the response time: too long", "the response time: too long"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := f.stable(tc.text); got != tc.want {
				t.Errorf("stable(%q) = %q, want %q", tc.text, got, tc.want)
			}
		})
	}
	own := Facts{Kind: "Pod", Name: "web-test", Pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web-test"}}}}
	if text := `pod "web-test" says no`; own.stable(text) != text {
		t.Errorf("a Pod lost its own name: %q", own.stable(text))
	}
}

// TestEqualFailuresReadAlike: equal failures differ in their details and logs only.
func TestEqualFailuresReadAlike(t *testing.T) {
	found := func(n int) Finding {
		at := time.Date(2026, time.May, 28, 12, n, 0, 0, time.UTC)
		return Find(Facts{
			Kind: "Deployment", Namespace: "apps", Name: "web", Status: "InProgress: Available: 0/1",
			Pods: []corev1.Pod{{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-6f-aaaa%d", n), UID: types.UID(fmt.Sprint("uid-", n)), CreationTimestamp: metav1.NewTime(at)},
				Status: corev1.PodStatus{PodIP: fmt.Sprint("10.244.0.", n), ContainerStatuses: []corev1.ContainerStatus{{
					Name: "main", RestartCount: int32(n),
					State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}},
				}}},
			}},
			Logs: []Log{{Container: "main", Text: fmt.Sprintf("%s web-6f-aaaa%d at 10.244.0.%d: no license\n", at.Format(time.RFC3339Nano), n, n)}},
		})
	}
	one, two := found(1), found(2)
	if one.Summary != two.Summary {
		t.Errorf("two equal failures have the summaries\n%s\n%s", one.Summary, two.Summary)
	}
	const want = "Deployment apps/web: container main exited with code 1: web at <pod>: no license"
	if one.Summary != want {
		t.Errorf("summary %q, want %q", one.Summary, want)
	}
	if fmt.Sprint(one.Details) == fmt.Sprint(two.Details) || one.Logs[0] == two.Logs[0] {
		t.Error("details and logs do not differ")
	}
	unknown := Find(Facts{Kind: "Job", Namespace: "apps", Name: "web", Status: `InProgress: pod "web-x7k2p" since 2026-05-28T12:00:00Z`})
	if want := `Job apps/web: pod "web" since`; unknown.Summary != want {
		t.Errorf("summary %q, want %q", unknown.Summary, want)
	}
}
