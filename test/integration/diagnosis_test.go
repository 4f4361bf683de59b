// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	claimYAML = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: app}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	jobOfApp  = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: app}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: a, image: none}]\n"
	hookOfApp = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: app, annotations: {helm.sh/hook: pre-install}}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: a, image: none}]\n"
)

// happens simulates the controllers of a cluster: the Pods of an object, its status, and events
// about it.
type happens struct {
	// status is of the object, pod of a pod of it; empty for none.
	status, pod string
	// reason and message are those of a warning, about the Pod if there is one.
	reason, message string
}

func (w *world) happen(ctx context.Context, object client.Object, h happens) error {
	object.SetNamespace(w.namespace)
	object.SetName("app")
	if err := appears(ctx, object); err != nil {
		return err
	}
	about := object
	if h.pod != "" {
		pod, err := w.podOf(ctx, object, h.pod)
		if err != nil {
			return err
		}
		about = pod
	}
	if h.reason != "" {
		gvk := about.GetObjectKind().GroupVersionKind()
		e := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "e-"},
			InvolvedObject: corev1.ObjectReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: w.namespace, Name: about.GetName(), UID: about.GetUID()},
			Reason:         h.reason, Message: h.message, Type: corev1.EventTypeWarning, LastTimestamp: metav1.Now(),
		}
		if err := suite.client.Create(ctx, e); err != nil {
			return err
		}
	}
	if h.status == "" {
		return nil
	}
	before := object.DeepCopyObject().(client.Object)
	if err := yaml.Unmarshal([]byte("status: "+h.status), object); err != nil {
		return err
	}
	return suite.client.Status().Patch(ctx, object, client.MergeFrom(before))
}

// podOf makes a pod of the object with a status.
func (w *world) podOf(ctx context.Context, of client.Object, status string) (*corev1.Pod, error) {
	yes := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "app-1-x", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "none"}}},
	}
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "app-1", UID: "some", Controller: &yes}
	if job, ok := of.(*batchv1.Job); ok {
		pod.Labels = job.Spec.Selector.MatchLabels
		owner = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: &yes}
	}
	pod.OwnerReferences = []metav1.OwnerReference{owner}
	if err := suite.client.Create(ctx, pod); err != nil {
		return nil, err
	}
	before := pod.DeepCopy()
	err := yaml.Unmarshal([]byte("status: "+status), pod)
	if err == nil {
		err = suite.client.Status().Patch(ctx, pod, client.MergeFrom(before))
	}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return pod, err
}

// TestReadySaysWhy: several failures, and the message of Ready for each. Suite test/node covers
// failures of real containers.
func TestReadySaysWhy(t *testing.T) {
	t.Parallel()
	waits := func(reason, message string) string {
		return `{phase: Pending, containerStatuses: [{name: a, image: none, imageID: "", ready: false, restartCount: 1, state: {waiting: {reason: ` + reason + `, message: '` + message + `'}}}]}`
	}
	refusal := func(message string) string {
		return `{observedGeneration: 1, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: '` + message + `'}]}`
	}
	const failedJob = `{startTime: "2026-01-01T00:00:00Z", failed: 1, conditions: [{type: FailureTarget, status: "True", reason: BackoffLimitExceeded}, {type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}`
	for name, tc := range map[string]struct {
		files   string
		object  client.Object
		happens happens
		begins  string
		says    []string
	}{
		"bad image": {
			stageDeploy, &appsv1.Deployment{},
			happens{pod: waits("ImagePullBackOff", "ErrImagePull: example.com/none:1: not found")},
			"Deployment NS/app: ImageNotFound: container a",
			[]string{"example.com/none:1: not found"},
		},
		"out of memory": {
			stageDeploy, &appsv1.Deployment{},
			happens{pod: `{phase: Running, containerStatuses: [{name: a, image: none, imageID: "", ready: false, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}`},
			"Deployment NS/app: OOMKilled: container a",
			[]string{"exit code 137"},
		},
		"no such key": {
			stageDeploy, &appsv1.Deployment{},
			happens{pod: waits("CreateContainerConfigError", "couldn''t find key password in Secret NS/access")},
			"Deployment NS/app: ConfigMissing: container a",
			[]string{"couldn't find key password"},
		},
		"unschedulable": {
			stageDeploy, &appsv1.Deployment{},
			happens{pod: `{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient cpu."}]}`},
			"Deployment NS/app: Unschedulable: ",
			[]string{"Insufficient cpu"},
		},
		"failing probe": {
			stageDeploy, &appsv1.Deployment{},
			happens{
				pod:    `{phase: Running, containerStatuses: [{name: a, image: none, imageID: "", ready: false, restartCount: 0, state: {running: {}}}]}`,
				reason: "Unhealthy", message: "Readiness probe failed: statuscode: 503",
			},
			"Deployment NS/app: ProbeFailed: container a",
			[]string{"statuscode: 503"},
		},
		"quota": {
			stageDeploy, &appsv1.Deployment{},
			happens{status: refusal(`pods "app-1-x" is forbidden: exceeded quota: small`)},
			"Deployment NS/app: QuotaExceeded: ",
			[]string{"exceeded quota: small"},
		},
		"webhook": {
			stageDeploy, &appsv1.Deployment{},
			happens{status: refusal(`admission webhook "policy.example.com" denied the request: no root`)},
			"Deployment NS/app: AdmissionDenied: ",
			[]string{"policy.example.com", "no root"},
		},
		"unbound claim": {
			claimYAML, &corev1.PersistentVolumeClaim{},
			happens{reason: "FailedBinding", message: "no storage class is set"},
			"PersistentVolumeClaim NS/app: VolumeNotBound: ",
			[]string{"no storage class is set"},
		},
		"rights": {
			stageDeploy, nil,
			happens{},
			"Deployment NS/app: Forbidden: ",
			[]string{"system:serviceaccount:NS:tenant", "cannot"},
		},
		"job": {
			jobOfApp, &batchv1.Job{},
			happens{
				pod:    `{phase: Failed, containerStatuses: [{name: a, image: none, imageID: "", ready: false, restartCount: 0, state: {terminated: {exitCode: 3, reason: Error, message: "cannot migrate"}}}]}`,
				status: failedJob,
			},
			"Job NS/app: ContainerFailed: container a exited with code 3 (BackoffLimitExceeded)", nil,
		},
		"hook": {hookOfApp, &batchv1.Job{}, happens{status: failedJob}, "Hook NS/app (Job): BackoffLimitExceeded", []string{"failed pre-install"}},
		"quota of a Job": {
			hookOfApp, &batchv1.Job{},
			happens{reason: "FailedCreate", message: `Error creating: pods "app-x" is forbidden: exceeded quota: small`},
			"Hook NS/app (Job): QuotaExceeded: ", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			// A sample reads Pods, an event, rights and the Job of a hook.
			if testing.Short() && !slices.Contains([]string{"bad image", "unbound claim", "rights", "hook"}, name) {
				t.Skip("long")
			}
			t.Parallel()
			w := newWorld(t)
			named := func(s string) string { return strings.ReplaceAll(s, "NS", w.namespace) }
			done := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			edit := []func(*helmv2.HelmRelease){func(hr *helmv2.HelmRelease) { hr.Spec.Timeout = &metav1.Duration{Duration: 30 * time.Second} }}
			if tc.object == nil {
				w.account("tenant", "secrets")
				edit = append(edit, as("tenant"))
				done <- nil
			} else {
				tc.happens.pod = named(tc.happens.pod)
				go func() { done <- w.happen(ctx, tc.object, tc.happens) }()
			}
			w.publish("app", "1.0.0", pack(t, "note", "1.0.0", map[string]string{"templates/all.yaml": tc.files}))
			hr := w.release("app", nil, edit...)
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			says := []string{named(tc.begins)}
			for _, part := range tc.says {
				says = append(says, named(part))
			}
			w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed, says...)
			for _, c := range hr.Status.Conditions {
				if c.Type == helmv2.ConditionReady && !strings.HasPrefix(c.Message, says[0]) {
					t.Errorf("Ready does not begin with object and cause: %s", c.Message)
				}
			}
			w.untilEvent(hr, corev1.EventTypeWarning, helmv2.ReasonInstallFailed, says...)
		})
	}
}

// TestWhyWithoutRights: without permission to read Pods, the release fails as usual, and the
// message names the missing permission.
func TestWhyWithoutRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account("tenant", "secrets")
	w.grant("deploy", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "tenant"},
		rule("apps", []string{"deployments"}, []string{"*"}))
	w.publish("app", "1.0.0", pack(t, "note", "1.0.0", map[string]string{"templates/all.yaml": stageDeploy}))
	hr := w.release("app", nil, as("tenant"), func(hr *helmv2.HelmRelease) { hr.Spec.Timeout = &metav1.Duration{Duration: time.Second} })
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonInstallFailed,
		"Deployment "+w.namespace+"/app: NotReady: ", "timeout waiting for")
	w.until(hr, "an event with the resources that were not read", func(hr *helmv2.HelmRelease) bool {
		var events corev1.EventList
		w.must(suite.client.List(t.Context(), &events, client.InNamespace(hr.Namespace)))
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == helmv2.ReasonInstallFailed && containsAll(e.Annotations[helmv2.EventMetadataDetails], "not read: pods: pods is forbidden", "tenant")
		})
	})
}
