// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// messageAnnotation is that of the chart's hooks.
	messageAnnotation = "chaos.pintle.dev/message"
	// observedLabel is that of the chart's ConfigMaps.
	observedLabel = "chaos.pintle.dev/observed"
)

// observer collects facts of all releases by its own watches, which do not use the proxy. A watch
// that ends is resumed at its last version, so that no Job is missed. Only a restarted API server
// does not have that version, and the watch begins with a list: see caughtUp.
type observer struct {
	mu    sync.Mutex
	seen  map[string]*seen
	wrong error
}

// seen are the observations about a namespace.
type seen struct {
	facts

	// records are indexes into those of the facts.
	records map[types.UID]int
	jobs    map[types.UID]int
	markers map[string]bool
}

// persistent repeats reading requests without an answer, so that watches wait for an API server
// that is away, and are not delayed by a backoff when it is back.
type persistent struct{ http.RoundTripper }

func (p persistent) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		response, err := p.RoundTripper.RoundTrip(r)
		if err == nil || r.Method != http.MethodGet || frame.Pause(r.Context(), pollEvery) != nil {
			return response, err
		}
	}
}

// observe watches until the context ends. It returns when all existing objects have been read.
func observe(ctx context.Context, env *harness.Environment) (*observer, error) {
	config, err := clientcmd.BuildConfigFromFlags("", env.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.UserAgent = -1, harness.UserAgent
	// A connection of HTTP/2 ends if the API server does not answer for a while, and with it the watch.
	config.NextProtos = []string{"http/1.1"}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return persistent{rt} })
	all, err := cache.New(config, cache.Options{
		Scheme: env.Client.Scheme(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}:    {Label: labels.SelectorFromSet(labels.Set{"owner": "helm"})},
			&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{observedLabel: "true"})},
			&corev1.Event{}:     {Field: fields.OneTermEqualSelector("type", corev1.EventTypeWarning)},
		},
	})
	if err != nil {
		return nil, err
	}
	o := &observer{seen: map[string]*seen{}}
	for _, kind := range []client.Object{
		&helmv2.HelmRelease{}, &opsv1alpha1.Operation{}, &corev1.Secret{}, &corev1.ConfigMap{}, &corev1.Event{}, &batchv1.Job{},
		&appsv1.Deployment{},
	} {
		informer, err := all.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if apimeta.IsNoMatchError(err) {
			// Another controller's definitions have no Operations.
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { o.note(object, false) }, UpdateFunc: func(_, object any) { o.note(object, false) },
			DeleteFunc: func(object any) { o.note(object, true) },
		}); err != nil {
			return nil, err
		}
	}
	go func() {
		if err := all.Start(ctx); err != nil {
			o.fail(err)
		}
	}()
	if !all.WaitForCacheSync(ctx) {
		return nil, errors.Join(errors.New("the watches do not begin"), ctx.Err())
	}
	return o, nil
}

func (o *observer) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wrong = errors.Join(o.wrong, err)
}

// caughtUp waits until the watches of Jobs and ConfigMaps return new objects. It creates some in a
// namespace; the Job is suspended.
func (o *observer) caughtUp(ctx context.Context, c client.Client, namespace string) error {
	before, err := o.facts(namespace)
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Namespace: namespace, GenerateName: "observed-", Labels: map[string]string{observedLabel: "true"}}
	suspended := true
	object := &corev1.ConfigMap{ObjectMeta: meta}
	object.Data = map[string]string{"message": fmt.Sprint("probe-", len(before.markers))}
	job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Suspend: &suspended, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "none", Image: "example.com/none"}},
	}}}}
	if err := errors.Join(c.Create(ctx, object), c.Create(ctx, job)); err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, pollEvery, true, func(context.Context) (bool, error) {
		f, err := o.facts(namespace)
		return len(f.jobs) > len(before.jobs) && len(f.markers) > len(before.markers), err
	})
	if err != nil {
		return fmt.Errorf("the watches do not resume: %w", err)
	}
	return nil
}

// facts returns the facts of a namespace.
func (o *observer) facts(namespace string) (facts, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.seen[namespace]
	if s == nil {
		return facts{}, o.wrong
	}
	f := s.facts
	f.records, f.hooks, f.warnings = slices.Clone(f.records), slices.Clone(f.hooks), slices.Clone(f.warnings)
	f.jobs, f.rollouts = slices.Clone(f.jobs), slices.Clone(f.rollouts)
	f.markers = slices.Sorted(maps.Keys(s.markers))
	return f, o.wrong
}

// note takes an object in.
func (o *observer) note(object any, gone bool) {
	last, missed := object.(toolscache.DeletedFinalStateUnknown)
	if missed {
		object = last.Obj
	}
	meta, ok := object.(metav1.Object)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.seen[meta.GetNamespace()]
	if s == nil {
		s = &seen{records: map[types.UID]int{}, jobs: map[types.UID]int{}, markers: map[string]bool{}}
		o.seen[meta.GetNamespace()] = s
	}
	switch object := object.(type) {
	case *helmv2.HelmRelease:
		s.release(object, gone)
	case *opsv1alpha1.Operation:
		s.operation = string(object.Status.Phase)
		s.released = len(object.Finalizers) == 0
	case *corev1.Secret:
		o.wrong = errors.Join(o.wrong, s.record(object, gone))
	case *corev1.ConfigMap:
		s.live(object, gone)
	case *corev1.Event:
		kind := object.InvolvedObject.Kind
		if !gone && (kind == helmv2.HelmReleaseKind || kind == opsv1alpha1.OperationKind) {
			s.warnings = append(s.warnings, object.Reason)
		}
	case *batchv1.Job:
		s.job(object, gone, missed)
	case *appsv1.Deployment:
		s.rollout(gone || object.Status.ObservedGeneration >= object.Generation)
	}
}

func (s *seen) release(hr *helmv2.HelmRelease, gone bool) {
	s.exists = !gone
	ready := harness.ReadyCondition(hr.Status.Conditions)
	s.ready, s.reason, s.text = ready.Status == metav1.ConditionTrue, ready.Reason, ready.Message
	s.quiet = hr.Status.ObservedGeneration == hr.Generation &&
		!apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionReconciling) &&
		hr.Annotations[opsv1alpha1.AnnotationHolder] == ""
	s.revision = 0
	if len(hr.Status.History) > 0 {
		s.revision = hr.Status.History[0].Version
	}
	s.failures = max(s.failures, hr.Status.Failures, hr.Status.InstallFailures, hr.Status.UpgradeFailures)
}

// record stores a Secret of Helm's storage. The values of a revision never change.
func (s *seen) record(secret *corev1.Secret, gone bool) error {
	i, known := s.records[secret.UID]
	if !known {
		_, revision, err := harness.ReadRevision(secret)
		if err != nil {
			return err
		}
		i = len(s.facts.records)
		s.records[secret.UID] = i
		message, _ := revision.Values["message"].(string)
		s.facts.records = append(s.facts.records, record{
			number: revision.Number, message: message, begun: time.Now(),
			install: revision.Number == 1 || revision.Status == string(helmv2.StatusPendingInstall),
		})
	}
	r := &s.facts.records[i]
	before := r.status
	r.status, r.deleted = secret.Labels["status"], gone
	r.unexplained = r.status == string(helmv2.StatusFailed) && secret.Labels[helmv2.LabelRevision] != "" &&
		secret.Labels[helmv2.LabelInterrupted] == "" && secret.Labels[helmv2.LabelOutdated] == ""
	switch {
	case r.status == before:
	case r.status == string(helmv2.StatusFailed):
		r.closed = time.Now()
	case r.status == string(helmv2.StatusDeployed):
		r.deployed = time.Now()
	case r.status == string(helmv2.StatusSuperseded):
		return r.superseded(secret)
	}
	return nil
}

// superseded fills in that a revision was deployed before, unless that was observed. Helm also sets
// the status superseded for a failed revision.
func (r *record) superseded(secret *corev1.Secret) error {
	if !r.deployed.IsZero() || !r.closed.IsZero() {
		return nil
	}
	_, revision, err := harness.ReadRevision(secret)
	if err == nil && strings.HasSuffix(revision.Description, " complete") {
		r.deployed = time.Now()
	}
	return err
}

// live stores a ConfigMap of the release, or one that is named after a message.
func (s *seen) live(object *corev1.ConfigMap, gone bool) {
	if object.Name != releaseName {
		delete(s.markers, object.Data["message"])
		if !gone {
			s.markers[object.Data["message"]] = true
		}
		return
	}
	if s.message != "" {
		s.changes++
	}
	s.message = object.Data["message"]
	if gone {
		s.message = ""
	}
}

// job stores a Job. Missed is set if events before its deletion were not observed.
func (s *seen) job(object *batchv1.Job, gone, missed bool) {
	i, known := s.jobs[object.UID]
	if !known {
		h := hook{event: object.Annotations["helm.sh/hook"], message: object.Annotations[messageAnnotation]}
		if object.Labels[opsv1alpha1.LabelOperation] != "" {
			h.event = operationHook
		}
		i = len(s.facts.jobs)
		s.jobs[object.UID] = i
		s.hooks = append(s.hooks, h)
		s.facts.jobs = append(s.facts.jobs, job{hook: h, created: time.Now()})
	}
	j := &s.facts.jobs[i]
	if !j.ended.IsZero() {
		return
	}
	j.succeeded = object.Status.Succeeded > 0
	for _, c := range object.Status.Conditions {
		gone = gone || c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	}
	if gone {
		j.ended, j.unknown = time.Now(), missed
	}
}

// rollout stores that the Deployment has changed, or that its controller has observed the change. Until
// then no action of the release can end.
func (s *seen) rollout(observed bool) {
	last := len(s.rollouts) - 1
	switch open := last >= 0 && s.rollouts[last].back.IsZero(); {
	case open && observed:
		s.rollouts[last].back = time.Now()
	case !open && !observed:
		s.rollouts = append(s.rollouts, window{from: time.Now()})
	}
}
