// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// messageAnnotation is that of the chart's hooks.
const messageAnnotation = "chaos.pintle.dev/message"

// observer collects facts of all releases by its own watches, which do not use the proxy. A watch
// that ends is resumed at its last version, so that no Job is missed.
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
	jobs    map[types.UID]bool
}

// observe watches until the context ends. It returns when all existing objects have been read.
func observe(ctx context.Context, env *harness.Environment) (*observer, error) {
	config, err := clientcmd.BuildConfigFromFlags("", env.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.UserAgent = -1, harness.UserAgent
	all, err := cache.New(config, cache.Options{
		Scheme: env.Client.Scheme(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}:    {Label: labels.SelectorFromSet(labels.Set{"owner": "helm"})},
			&corev1.ConfigMap{}: {Field: fields.OneTermEqualSelector("metadata.name", releaseName)},
			&corev1.Event{}:     {Field: fields.OneTermEqualSelector("type", corev1.EventTypeWarning)},
		},
	})
	if err != nil {
		return nil, err
	}
	o := &observer{seen: map[string]*seen{}}
	for _, kind := range []client.Object{
		&helmv2.HelmRelease{}, &opsv1alpha1.Operation{}, &corev1.Secret{}, &corev1.ConfigMap{}, &corev1.Event{}, &batchv1.Job{},
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
	return f, o.wrong
}

// note takes an object in.
func (o *observer) note(object any, gone bool) {
	if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
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
		s = &seen{records: map[types.UID]int{}, jobs: map[types.UID]bool{}}
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
		s.job(object)
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

// record stores a Secret of Helm's storage. The content of a revision never changes.
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
		s.facts.records = append(s.facts.records, record{number: revision.Number, message: message})
	}
	s.facts.records[i].status, s.facts.records[i].deleted = secret.Labels["status"], gone
	return nil
}

func (s *seen) live(object *corev1.ConfigMap, gone bool) {
	if s.message != "" {
		s.changes++
	}
	s.message = object.Data["message"]
	if gone {
		s.message = ""
	}
}

func (s *seen) job(job *batchv1.Job) {
	if s.jobs[job.UID] {
		return
	}
	s.jobs[job.UID] = true
	h := hook{event: job.Annotations["helm.sh/hook"], message: job.Annotations[messageAnnotation]}
	if job.Labels[opsv1alpha1.LabelOperation] != "" {
		h.event = operationHook
	}
	s.hooks = append(s.hooks, h)
}
