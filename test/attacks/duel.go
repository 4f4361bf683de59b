// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/attacks/corpus"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// conditionLimit is the time within which an attack must get its condition.
	conditionLimit = 30 * time.Second
	// deletionLimit is that for the deletion of its release.
	deletionLimit = time.Minute
	// attackTimeout is the timeout of actions of attacks, which is shorter than that of a call.
	attackTimeout = 5 * time.Second
	pollEvery     = 100 * time.Millisecond
)

// outcome is the result of one attack.
type outcome struct {
	attack  corpus.Attack
	round   string
	took    time.Duration
	peakMiB float64
	ready   metav1.Condition
	// broken are the promises that the controller did not keep.
	broken []string
}

// newRelease returns a release of a chart.
func newRelease(namespace, name, chart string) *helmv2.HelmRelease {
	return &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: helmv2.HelmReleaseSpec{
			Interval: metav1.Duration{Duration: time.Hour}, Timeout: &metav1.Duration{Duration: attackTimeout},
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: chart, Namespace: hostile},
		},
	}
}

// duel runs one attack in a namespace. The error is one of the environment, not of the controller.
func (a *arena) duel(ctx context.Context, attack corpus.Attack, namespace, round string) (o outcome, err error) {
	name := attack.ID() + round
	hr := newRelease(namespace, name, harmless)
	if attack.Archive != nil {
		hr.Spec.ChartRef.Name = attack.ID()
	}
	if attack.Edit != nil {
		attack.Edit(hr)
	}
	objects := attack.Objects(namespace, name)
	var forged corpus.Forgery
	if attack.Forge != nil {
		forged = attack.Forge(namespace, name)
		objects = append(objects, forged.Record, forged.Bystander)
	}
	if attack.Server != nil {
		next, err := forwarder(a.config)
		if err != nil {
			return o, err
		}
		address, stop, err := serve(ctx, attack.Server(next))
		if err != nil {
			return o, err
		}
		defer stop()
		objects = append(objects, corpus.KubeconfigSecret(namespace, name, corpus.Kubeconfig(address, "", "", "")))
	}
	for _, object := range objects {
		if err := a.env.Client.Create(ctx, object); err != nil {
			return o, fmt.Errorf("%s: %w", attack.Name, err)
		}
	}
	o = outcome{attack: attack, round: round}
	w := a.memory.begin()
	began := time.Now()
	if err := a.env.Client.Create(ctx, hr); err != nil {
		return o, fmt.Errorf("%s: %w", attack.Name, err)
	}
	err = a.await(ctx, hr, &o, began)
	o.peakMiB = a.memory.end(w)
	if err != nil {
		return o, err
	}
	if attack.Forge != nil {
		o.broken = append(o.broken, a.believed(ctx, forged)...)
	}
	return o, a.remove(ctx, hr, &o, objects, forged)
}

// believed returns what the controller did because of a forged record.
func (a *arena) believed(ctx context.Context, f corpus.Forgery) (broken []string) {
	if f.Bystander == nil {
		return nil
	}
	for _, object := range f.Never {
		if !apierrors.IsNotFound(a.env.Client.Get(ctx, client.ObjectKeyFromObject(object), object)) {
			broken = append(broken, fmt.Sprintf("%s of a forged record exists", object.GetName()))
		}
	}
	if err := a.env.Client.Get(ctx, client.ObjectKeyFromObject(f.Bystander), f.Bystander); err != nil {
		broken = append(broken, fmt.Sprintf("%s was deleted because of a forged record: %s", f.Bystander.Name, err))
	}
	return broken
}

// await waits for the condition.
func (a *arena) await(ctx context.Context, hr *helmv2.HelmRelease, o *outcome, began time.Time) error {
	limit := a.allowed(conditionLimit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	met := a.poll(limited, func() bool {
		if a.env.Client.Get(limited, client.ObjectKeyFromObject(hr), hr) != nil {
			return false
		}
		o.ready = harness.ReadyCondition(hr.Status.Conditions)
		return o.ready.ObservedGeneration == hr.Generation && o.attack.Outcome.Met(o.ready)
	})
	o.took = time.Since(began)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !met:
		o.broken = append(o.broken, fmt.Sprintf("no condition within %s: want %s", limit, o.attack.Outcome))
	case o.attack.Dwell > 0:
		a.dwell(ctx, o.attack.Dwell)
	}
	return a.alive(ctx)
}

// dwell keeps the release for a while, since the attack goes on after its condition.
func (a *arena) dwell(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	a.poll(ctx, func() bool { return a.env.Controller.Ended() != nil })
}

// alive returns an error if the controller has ended.
func (a *arena) alive(ctx context.Context) error {
	if err := a.env.Controller.Ended(); err != nil {
		return fmt.Errorf("%w; its log ends:\n%s", err, a.env.Controller.LogTail(30))
	}
	return ctx.Err()
}

// poll calls look until it returns true or the context ends, and returns whether it did.
func (a *arena) poll(ctx context.Context, look func() bool) bool {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !look() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// remove deletes the release and its objects. What is installed in a hostile cluster stays there.
func (a *arena) remove(ctx context.Context, hr *helmv2.HelmRelease, o *outcome, objects []client.Object, forged corpus.Forgery) error {
	limit := a.allowed(deletionLimit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if o.attack.Server != nil || o.attack.Secret != nil {
		patch := client.MergeFrom(hr.DeepCopy())
		hr.Annotations = map[string]string{helmv2.AnnotationOrphan: "true"}
		if err := a.env.Client.Patch(limited, hr, patch); err != nil {
			return err
		}
	}
	if err := a.env.Client.Delete(limited, hr); err != nil {
		return err
	}
	gone := a.poll(limited, func() bool {
		return apierrors.IsNotFound(a.env.Client.Get(limited, client.ObjectKeyFromObject(hr), hr))
	})
	if !gone && ctx.Err() == nil {
		o.broken = append(o.broken, fmt.Sprintf("the release is not deleted after %s: %s", limit, harness.Summary(hr)))
	}
	o.broken = append(o.broken, a.believed(ctx, forged)...)
	errs := []error{a.alive(ctx)}
	for _, object := range objects {
		errs = append(errs, client.IgnoreNotFound(a.env.Client.Delete(ctx, object)))
	}
	return errors.Join(errs...)
}
