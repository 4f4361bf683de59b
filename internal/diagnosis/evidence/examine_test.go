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

// shelf is a source in memory. It writes down what it is asked.
type shelf struct {
	all     []corev1.Pod
	events  map[string][]corev1.Event
	secrets map[string]string
	log     string
	// refused are kinds that may not be read.
	refused []string
	asked   []string
}

func (s *shelf) ask(kind, what string) error {
	s.asked = append(s.asked, kind+" "+what)
	if slices.Contains(s.refused, kind) {
		return apierrors.NewForbidden(apischema.GroupResource{Resource: kind}, what, errors.New("no rights"))
	}
	return nil
}

func (s *shelf) pods(_ context.Context, _ string, o metav1.ListOptions) ([]corev1.Pod, error) {
	return slices.Clone(s.all), s.ask("pods", o.LabelSelector+o.FieldSelector)
}

func (s *shelf) warnings(_ context.Context, _, uid string) ([]corev1.Event, error) {
	return s.events[uid], s.ask("events", uid)
}

func (s *shelf) secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	if err := s.ask("secrets", name); err != nil {
		return nil, err
	}
	value, ok := s.secrets[name]
	if !ok {
		return nil, apierrors.NewNotFound(apischema.GroupResource{Resource: "secrets"}, name)
	}
	return &corev1.Secret{Data: map[string][]byte{"key": []byte(value)}}, nil
}

func (s *shelf) logs(_ context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s.log)), s.ask("logs", fmt.Sprintf("%s/%s previous=%t", pod, o.Container, o.Previous))
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
		why      string
		from     *shelf
		suspects []release.UnreadyObject
		brief    bool
		code     string
		says     []string
		silent   []string
		asked    []string
	}{
		"log": {
			why:      "the log is read of the last life of the container, without secrets",
			from:     &shelf{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", crashed)}, secrets: map[string]string{"access": canary}, log: "one\nit is " + canary + "\n"},
			suspects: []release.UnreadyObject{deploy()}, code: helmv2.FailureCrashLoop,
			says: []string{"Deployment apps/web: CrashLoop", "it is ***", "one\n"}, silent: []string{canary},
			asked: []string{"pods app=web", "secrets access", "logs web-1-a/main previous=true", "events uid-web-1-a"},
		},
		"secret refused": {
			why:      "what cannot be made safe is not told",
			from:     &shelf{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", crashed)}, refused: []string{"secrets"}, log: canary},
			suspects: []release.UnreadyObject{deploy()}, code: helmv2.FailureCrashLoop,
			says: []string{"exited with code 1", "is not told: what is secret in it is not known", "no rights"}, silent: []string{canary},
			asked: []string{"pods app=web", "secrets access", "events uid-web-1-a"},
		},
		"pods refused": {
			why:  "what may not be read is left out, and said to be",
			from: &shelf{refused: []string{"pods", "events"}}, suspects: []release.UnreadyObject{job()}, code: helmv2.FailureNotReady,
			says:  []string{"Job apps/web: NotReady: InProgress: late", "not read: pods: pods", "not read: events: events"},
			asked: []string{"pods controller-uid=u", "events uid-Job"},
		},
		"log refused": {
			why:      "nor does it matter if logs may not be read",
			from:     &shelf{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", crashed)}, refused: []string{"logs"}},
			suspects: []release.UnreadyObject{deploy()}, code: helmv2.FailureCrashLoop, says: []string{"not read: log of container main"},
			asked: []string{"pods app=web", "secrets access", "logs web-1-a/main previous=true", "events uid-web-1-a"},
		},
		"nothing has run": {
			why:  "there are no logs then, and no secrets to know",
			from: &shelf{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", pulling)}}, suspects: []release.UnreadyObject{deploy()},
			code: helmv2.FailureImageNotFound, says: []string{"not found"}, asked: []string{"pods app=web", "events uid-web-1-a"},
		},
		"brief": {
			why:  "what a pod shows itself takes one request",
			from: &shelf{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", pulling)}}, suspects: []release.UnreadyObject{deploy(), job()},
			brief: true, code: helmv2.FailureImageNotFound, asked: []string{"pods app=web"},
		},
		"brief about a Job": {
			why:      "what keeps its pods from being created is in events only",
			from:     &shelf{events: map[string][]corev1.Event{"uid-Job": {{Reason: "FailedCreate", Message: "exceeded quota"}}}},
			suspects: []release.UnreadyObject{job()}, brief: true, code: helmv2.FailureQuotaExceeded, asked: []string{"pods controller-uid=u", "events uid-Job"},
		},
		"brief about two": {
			why: "one that may mend itself does not hide one that is hopeless",
			from: &shelf{all: []corev1.Pod{ownedPod("web-1-a", "ReplicaSet", "web-1", strings.Replace(crashed, "9", "1", 1))},
				events: map[string][]corev1.Event{"uid-Job": {{Reason: "FailedCreate", Message: "exceeded quota"}}}},
			suspects: []release.UnreadyObject{deploy(), job()}, brief: true, code: helmv2.FailureQuotaExceeded,
			asked: []string{"pods app=web", "pods controller-uid=u", "events uid-Job"},
		},
		"pods of others": {
			why: "a selector may select more",
			from: &shelf{all: []corev1.Pod{ownedPod("zebra-1-a", "ReplicaSet", "zebra-1", crashed), ownedPod("zed", "", "", crashed),
				ownedPod("web-1-a", "ReplicaSet", "web-1", pulling)}},
			suspects: []release.UnreadyObject{deploy()}, code: helmv2.FailureImageNotFound, asked: []string{"pods app=web", "events uid-web-1-a"},
		},
		"who has failed comes first": {
			why:  "and one that shows a cause is enough",
			from: &shelf{all: []corev1.Pod{ownedPod("web-1-a", "Job", "web", pulling)}},
			suspects: []release.UnreadyObject{
				suspect(t, "Database", "example.com", "{}"), suspect(t, "Service", "", "{}"),
				func() release.UnreadyObject { s := job(); s.Failed = true; return s }(),
			},
			code: helmv2.FailureImageNotFound, asked: []string{"pods controller-uid=u", "events uid-Job", "events uid-web-1-a"},
		},
		"three at most": {
			why:  "what is asked is bounded",
			from: &shelf{}, suspects: []release.UnreadyObject{deploy(), deploy(), deploy(), deploy(), deploy()},
			code: helmv2.FailureNotReady, asked: []string{"pods app=web", "pods app=web", "pods app=web"},
		},
		"quiet": {
			why:  "a chart may keep a log to itself",
			from: &shelf{all: []corev1.Pod{ownedPod("web", "", "", crashed)}, log: "loud"},
			suspects: func() []release.UnreadyObject {
				s := suspect(t, "Pod", "", "{}")
				s.UID, s.Role, s.HideLogs = "", release.RoleTest, true
				return []release.UnreadyObject{s}
			}(),
			code: helmv2.FailureCrashLoop, says: []string{"Test apps/web (Pod)", "hook-output-log-policy"}, silent: []string{"loud"},
			asked: []string{"pods metadata.name=web", "events uid-web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Examiner{from: tc.from}
			d := e.Examine(t.Context(), release.DiagnosisRequest{Objects: tc.suspects, Brief: tc.brief})
			if d == nil {
				t.Fatal("nothing was found")
			}
			all := d.Summary + "\n" + strings.Join(d.Details, "\n")
			for _, l := range d.Logs {
				all += "\n" + l.Pod + "/" + l.Container + "\n" + l.Text
			}
			if d.Code != tc.code {
				t.Errorf("%s: code %s, want %s", tc.why, d.Code, tc.code)
			}
			for _, part := range tc.says {
				if !strings.Contains(all, part) {
					t.Errorf("%s: %q is not in\n%s", tc.why, part, all)
				}
			}
			for _, part := range tc.silent {
				if strings.Contains(all, part) {
					t.Errorf("%s: %q is in\n%s", tc.why, part, all)
				}
			}
			if !slices.Equal(tc.from.asked, tc.asked) {
				t.Errorf("%s: asked %q, want %q", tc.why, tc.from.asked, tc.asked)
			}
		})
	}
	if d := (&Examiner{from: &shelf{}}).Examine(t.Context(), release.DiagnosisRequest{}); d != nil {
		t.Errorf("of nothing there is nothing to say: %+v", d)
	}
}

func TestManySecrets(t *testing.T) {
	p := ownedPod("web-1-a", "ReplicaSet", "web-1", crashed)
	for i := range maxSecrets + 1 {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: fmt.Sprint("s", i)})
	}
	from := &shelf{all: []corev1.Pod{p}, log: canary}
	d := (&Examiner{from: from}).Examine(t.Context(), release.DiagnosisRequest{Objects: []release.UnreadyObject{suspect(t, "Deployment", "apps", deployment)}})
	if len(d.Logs) > 0 || len(from.asked) != 2 {
		t.Errorf("asked %q, %+v", from.asked, d)
	}
}

func TestRefused(t *testing.T) {
	s := suspect(t, "Deployment", "apps", "{}")
	s.Status = `deployments.apps "web" is forbidden: User "tenant" cannot patch it, ` + canary
	d := (&Examiner{}).Refused(s, []string{canary})
	if d.Code != helmv2.FailureForbidden || !strings.HasPrefix(d.Summary, "Deployment apps/web: Forbidden: ") || strings.Contains(d.Summary+strings.Join(d.Details, ""), canary) {
		t.Errorf("%+v", d)
	}
}

func TestHookLogs(t *testing.T) {
	from := &shelf{all: []corev1.Pod{ownedPod("web", "", "", "{phase: Succeeded, containerStatuses: [{name: main, state: {terminated: {exitCode: 0}}}]}")},
		secrets: map[string]string{"access": canary}, log: "done with " + canary + " and other\n"}
	logs, err := (&Examiner{from: from}).HookLogs(t.Context(), "apps", metav1.ListOptions{LabelSelector: "job-name=web"}, []string{"other"})
	if err != nil || len(logs) != 1 || logs[0] != (release.ContainerLog{Pod: "web", Container: "main", Text: "done with *** and ***"}) {
		t.Errorf("%+v: %v", logs, err)
	}
	from.refused = []string{"secrets"}
	if logs, err := (&Examiner{from: from}).HookLogs(t.Context(), "apps", metav1.ListOptions{}, nil); err == nil || len(logs) > 0 {
		t.Errorf("a log was told whose secrets are not known: %+v", logs)
	}
}

func TestManyContainers(t *testing.T) {
	p := ownedPod("web-1-a", "ReplicaSet", "web-1", "{phase: Running}")
	for i := range 2 * diagnosis.MaxLogs {
		c := corev1.ContainerStatus{Name: fmt.Sprint("c", i), Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		c.Ready = i < 2*diagnosis.MaxLogs-1
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, c)
	}
	from := &shelf{all: []corev1.Pod{p}, log: "words"}
	d := (&Examiner{from: from}).Examine(t.Context(), release.DiagnosisRequest{Objects: []release.UnreadyObject{suspect(t, "Deployment", "apps", deployment)}})
	if len(d.Logs) != diagnosis.MaxLogs || d.Logs[0].Container != fmt.Sprint("c", 2*diagnosis.MaxLogs-1) || len(from.asked) != 3+diagnosis.MaxLogs {
		t.Errorf("asked %q, %+v", from.asked, d.Logs)
	}
}
