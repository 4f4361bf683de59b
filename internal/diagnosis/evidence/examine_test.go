// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/release"
)

const canary = "c4nary-0f-a-secret"

// memorySource is a source in memory. It records the requests.
type memorySource struct {
	all     []corev1.Pod
	events  map[string][]corev1.Event
	secrets map[string]string
	log     string
	// refused are the kinds whose requests are forbidden.
	refused  []string
	requests []string
}

func (s *memorySource) record(kind, what string) error {
	s.requests = append(s.requests, kind+" "+what)
	if slices.Contains(s.refused, kind) {
		return apierrors.NewForbidden(apischema.GroupResource{Resource: kind}, what, errors.New("no rights"))
	}
	return nil
}

func (s *memorySource) pods(_ context.Context, _ string, o metav1.ListOptions) ([]corev1.Pod, error) {
	return slices.Clone(s.all), s.record("pods", o.LabelSelector+o.FieldSelector)
}

func (s *memorySource) warnings(_ context.Context, _, uid string) ([]corev1.Event, error) {
	return s.events[uid], s.record("events", uid)
}

func (s *memorySource) secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	if err := s.record("secrets", name); err != nil {
		return nil, err
	}
	value, ok := s.secrets[name]
	if !ok {
		return nil, apierrors.NewNotFound(apischema.GroupResource{Resource: "secrets"}, name)
	}
	return &corev1.Secret{Data: map[string][]byte{"key": []byte(value)}}, nil
}

func (s *memorySource) logs(_ context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s.log)), s.record("logs", fmt.Sprintf("%s/%s previous=%t", pod, o.Container, o.Previous))
}

func suspect(t *testing.T, kind, group, content string) release.UnreadyObject {
	t.Helper()
	s := release.UnreadyObject{Object: release.Object{Group: group, Version: "v1", Kind: kind, Namespace: "apps", Name: "web"}, UID: "uid-" + kind, Status: "InProgress: late"}
	if err := yaml.Unmarshal([]byte(content), &s.Content); err != nil {
		t.Fatal(err)
	}
	return s
}

func ownedPod(name, ownerKind, owner string, status string) corev1.Pod {
	yes := true
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, UID: types.UID("uid-" + name)}}
	if owner != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: ownerKind, Name: owner, UID: types.UID("uid-" + ownerKind), Controller: &yes}}
	}
	if err := yaml.Unmarshal([]byte(status), &p.Status); err != nil {
		panic(err)
	}
	p.Spec.Containers = []corev1.Container{{Name: "main", EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "access"}}}}}}
	return p
}

const (
	crashed    = "{phase: Running, containerStatuses: [{name: main, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error}}, restartCount: 9}]}"
	pulling    = "{phase: Pending, containerStatuses: [{name: main, image: x, state: {waiting: {reason: ErrImagePull, message: 'x: not found'}}}]}"
	deployment = "{spec: {selector: {matchLabels: {app: web}}}}"
)

func TestExamine(t *testing.T) {
	deploy := func() release.UnreadyObject { return suspect(t, "Deployment", "apps", deployment) }
	job := func() release.UnreadyObject {
		return suspect(t, "Job", "batch", "{spec: {selector: {matchLabels: {controller-uid: u}}}}")
	}
	for name, tc := range map[string]struct {
		reason   string
		from     *memorySource
		suspects []release.UnreadyObject
		brief    bool
		code     string
		contains []string
		absent   []string
		requests []string
	}{
		"log": {
			reason:   "the log of the container's previous run is read and redacted",
			from:     &memorySource{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", crashed)}, secrets: map[string]string{"access": canary}, log: "one\nit is " + canary + "\n"},
			suspects: []release.UnreadyObject{deploy()}, code: helmv2.FailureCrashLoop,
			contains: []string{"Deployment apps/web: container main", "it is ***", "one\n"}, absent: []string{canary},
			requests: []string{"pods app=web", "secrets access", "logs web-1-a/main previous=true", "events uid-web-1-a"},
		},
		"secret refused": {
			reason:   "a log that cannot be redacted is withheld",
			from:     &memorySource{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", crashed)}, refused: []string{"secrets"}, log: canary},
			suspects: []release.UnreadyObject{deploy()}, code: helmv2.FailureCrashLoop,
			contains: []string{"exited with code 1", "is withheld: the Secrets of the Pod could not be read", "no rights"}, absent: []string{canary},
			requests: []string{"pods app=web", "secrets access", "events uid-web-1-a"},
		},
		"pods refused": {
			reason: "forbidden resources are left out and listed",
			from:   &memorySource{refused: []string{"pods", "events"}}, suspects: []release.UnreadyObject{job()}, code: helmv2.FailureNotReady,
			contains: []string{"Job apps/web: late", "not read: pods: pods", "not read: events: events"},
			requests: []string{"pods controller-uid=u", "events uid-Job"},
		},
		"log refused": {
			reason:   "forbidden logs are left out and listed",
			from:     &memorySource{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", crashed)}, refused: []string{"logs"}},
			suspects: []release.UnreadyObject{deploy()}, code: helmv2.FailureCrashLoop, contains: []string{"not read: log of container main"},
			requests: []string{"pods app=web", "secrets access", "logs web-1-a/main previous=true", "events uid-web-1-a"},
		},
		"nothing has run": {
			reason: "without logs no Secrets are read",
			from:   &memorySource{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", pulling)}}, suspects: []release.UnreadyObject{deploy()},
			code: helmv2.FailureImageNotFound, contains: []string{"not found"}, requests: []string{"pods app=web", "events uid-web-1-a"},
		},
		"brief": {
			reason: "a symptom in a Pod's status takes one request",
			from:   &memorySource{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", pulling)}}, suspects: []release.UnreadyObject{deploy(), job()},
			brief: true, code: helmv2.FailureImageNotFound, requests: []string{"pods app=web"},
		},
		"brief about a Job": {
			reason:   "the reason why a Job's Pods cannot be created is in events only",
			from:     &memorySource{events: map[string][]corev1.Event{"uid-Job": {{Reason: "FailedCreate", Message: "exceeded quota"}}}},
			suspects: []release.UnreadyObject{job()}, brief: true, code: helmv2.FailureQuotaExceeded, requests: []string{"pods controller-uid=u", "events uid-Job"},
		},
		"brief about two": {
			reason: "an object that may recover does not hide a hopeless one",
			from: &memorySource{
				all:    []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", strings.Replace(crashed, "9", "1", 1))},
				events: map[string][]corev1.Event{"uid-Job": {{Reason: "FailedCreate", Message: "exceeded quota"}}},
			},
			suspects: []release.UnreadyObject{deploy(), job()}, brief: true, code: helmv2.FailureQuotaExceeded,
			requests: []string{"pods app=web", "pods controller-uid=u", "events uid-Job"},
		},
		"pods of others": {
			reason: "a selector may select Pods of other objects",
			from: &memorySource{all: []corev1.Pod{
				ownedPod("zebra-1-a", "ReplicaSet", "zebra-1", crashed), ownedPod("zed", "", "", crashed),
				ownedPod("web-1-a", "ReplicaSet", "web-1", pulling),
			}},
			suspects: []release.UnreadyObject{deploy()}, code: helmv2.FailureImageNotFound, requests: []string{"pods app=web", "events uid-web-1-a"},
		},
		"failed objects come first": {
			reason: "the first cause ends the diagnosis",
			from:   &memorySource{all: []corev1.Pod{ownedPod("web-1-a", "Job", "web", pulling)}},
			suspects: []release.UnreadyObject{
				suspect(t, "Database", "example.com", "{}"), suspect(t, "Service", "", "{}"),
				func() release.UnreadyObject { s := job(); s.Failed = true; return s }(),
			},
			code: helmv2.FailureImageNotFound, requests: []string{"pods controller-uid=u", "events uid-Job", "events uid-web-1-a"},
		},
		"three at most": {
			reason: "the number of requests is limited",
			from:   &memorySource{}, suspects: []release.UnreadyObject{deploy(), deploy(), deploy(), deploy(), deploy()},
			code: helmv2.FailureNotReady, requests: []string{"pods app=web", "pods app=web", "pods app=web"},
		},
		"quiet": {
			reason: "a chart may exclude the log of a hook",
			from:   &memorySource{all: []corev1.Pod{ownedPod("web", "", "", crashed)}, log: "loud"},
			suspects: func() []release.UnreadyObject {
				s := suspect(t, "Pod", "", "{}")
				s.UID, s.Role, s.HideLogs = "", release.RoleTest, true
				return []release.UnreadyObject{s}
			}(),
			code: helmv2.FailureCrashLoop, contains: []string{"Test Pod apps/web", "hook-output-log-policy"}, absent: []string{"loud"},
			requests: []string{"pods metadata.name=web", "events uid-web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Reader{from: tc.from}
			d := e.Examine(t.Context(), release.DiagnosisRequest{Objects: tc.suspects, Brief: tc.brief})
			if d == nil {
				t.Fatal("nothing was found")
			}
			all := d.Summary + "\n" + strings.Join(d.Details, "\n")
			for _, l := range d.Logs {
				all += "\n" + l.Pod + "/" + l.Container + "\n" + l.Text
			}
			if d.Code != tc.code {
				t.Errorf("%s: code %s, want %s", tc.reason, d.Code, tc.code)
			}
			for _, part := range tc.contains {
				if !strings.Contains(all, part) {
					t.Errorf("%s: %q is not in\n%s", tc.reason, part, all)
				}
			}
			for _, part := range tc.absent {
				if strings.Contains(all, part) {
					t.Errorf("%s: %q is in\n%s", tc.reason, part, all)
				}
			}
			if !slices.Equal(tc.from.requests, tc.requests) {
				t.Errorf("%s: requests %q, want %q", tc.reason, tc.from.requests, tc.requests)
			}
		})
	}
	if d := (&Reader{from: &memorySource{}}).Examine(t.Context(), release.DiagnosisRequest{}); d != nil {
		t.Errorf("an inquiry without suspects has a diagnosis: %+v", d)
	}
}

func TestManySecrets(t *testing.T) {
	p := ownedPod("web-1-a", "ReplicaSet", "web-1", crashed)
	for i := range maxSecrets + 1 {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: fmt.Sprint("s", i)})
	}
	from := &memorySource{all: []corev1.Pod{p}, log: canary}
	d := (&Reader{from: from}).Examine(t.Context(), release.DiagnosisRequest{Objects: []release.UnreadyObject{suspect(t, "Deployment", "apps", deployment)}})
	if len(d.Logs) > 0 || len(from.requests) != 2 {
		t.Errorf("requests %q, %+v", from.requests, d)
	}
}

func TestRefused(t *testing.T) {
	s := suspect(t, "Deployment", "apps", "{}")
	s.Status = `deployments.apps "web" is forbidden: User "tenant" cannot patch it, ` + canary
	d := (&Reader{}).Refused(s, "apps", []string{canary})
	if d.Code != helmv2.FailureForbidden || !strings.HasPrefix(d.Summary, "Deployment web: User ") || strings.Contains(d.Summary+strings.Join(d.Details, ""), canary) {
		t.Errorf("%+v", d)
	}
}

func TestHookLogs(t *testing.T) {
	from := &memorySource{
		all:     []corev1.Pod{ownedPod("web", "", "", "{phase: Succeeded, containerStatuses: [{name: main, state: {terminated: {exitCode: 0}}}]}")},
		secrets: map[string]string{"access": canary}, log: "done with " + canary + " and other\n",
	}
	logs, err := (&Reader{from: from}).HookLogs(t.Context(), "apps", metav1.ListOptions{LabelSelector: "job-name=web"}, []string{"other"})
	if err != nil || len(logs) != 1 || logs[0] != (release.ContainerLog{Pod: "web", Container: "main", Text: "done with *** and ***"}) {
		t.Errorf("%+v: %v", logs, err)
	}
	from.refused = []string{"secrets"}
	if logs, err := (&Reader{from: from}).HookLogs(t.Context(), "apps", metav1.ListOptions{}, nil); err == nil || len(logs) > 0 {
		t.Errorf("a log was returned whose Secrets could not be read: %+v", logs)
	}
}

func TestManyContainers(t *testing.T) {
	p := ownedPod("web-1-a", "ReplicaSet", "web-1", "{phase: Running}")
	for i := range 2 * diagnosis.MaxLogs {
		c := corev1.ContainerStatus{Name: fmt.Sprint("c", i), Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		c.Ready = i < 2*diagnosis.MaxLogs-1
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, c)
	}
	from := &memorySource{all: []corev1.Pod{p}, log: "words"}
	d := (&Reader{from: from}).Examine(t.Context(), release.DiagnosisRequest{Objects: []release.UnreadyObject{suspect(t, "Deployment", "apps", deployment)}})
	if len(d.Logs) != diagnosis.MaxLogs || d.Logs[0].Container != fmt.Sprint("c", 2*diagnosis.MaxLogs-1) || len(from.requests) != 3+diagnosis.MaxLogs {
		t.Errorf("requests %q, %+v", from.requests, d.Logs)
	}
}
