// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/attacks/corpus"
)

const (
	// conditionLimit is the time within which an attack must get each condition.
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
	// got is the condition of the last step.
	got metav1.Condition
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
	hr := newRelease(namespace, attack.ID()+round, harmless)
	if attack.Archive != nil {
		hr.Spec.ChartRef.Name = attack.ID()
	}
	if attack.Edit != nil {
		attack.Edit(hr)
	}
	objects := attack.Objects(hr.Namespace, hr.Name)
	var around corpus.Setting
	if attack.Setting != nil {
		around = attack.Setting(corpus.Place{Namespace: hr.Namespace, Name: hr.Name, Registry: a.Env.Registry.Address})
		objects = slices.Concat(objects, around.Before, around.Bystanders)
	}
	if attack.Server != nil {
		secret, stop, err := a.serve(ctx, attack, hr)
		if err != nil {
			return o, err
		}
		defer stop()
		objects = append(objects, secret)
	}
	policy := policyOf(attack, hr)
	if policy != nil {
		objects = append(objects, policy)
	}
	for _, object := range objects {
		if err := a.Env.Client.Create(ctx, object); err != nil {
			return o, err
		}
	}
	o = outcome{attack: attack, round: round}
	if err := a.play(ctx, hr, policy, &o); err != nil {
		return o, err
	}
	o.broken = append(o.broken, a.objects(ctx, slices.Concat(around.Kept, around.Bystanders), around.Never)...)
	if err := a.remove(ctx, hr, policy, &o); err != nil {
		return o, err
	}
	o.broken = append(o.broken, a.objects(ctx, around.Bystanders, around.Never)...)
	errs := []error{a.alive(ctx)}
	for _, object := range append(objects, around.Kept...) {
		errs = append(errs, client.IgnoreNotFound(a.Env.Client.Delete(ctx, object)))
	}
	return o, errors.Join(errs...)
}

// serve serves the hostile API server of an attack until stop is called, and returns the Secret with
// its kubeconfig.
func (a *arena) serve(ctx context.Context, attack corpus.Attack, hr *helmv2.HelmRelease) (_ client.Object, stop func(), err error) {
	next, err := forwarder(a.config)
	if err != nil {
		return nil, nil, err
	}
	server, address, err := harness.Serve(ctx, "127.0.0.1:0", attack.Server(next))
	if err != nil {
		return nil, nil, err
	}
	secret := corpus.KubeconfigSecret(hr.Namespace, hr.Name, corpus.Kubeconfig("http://"+address, "", "", ""))
	return secret, func() { _ = server.Close() }, nil
}

// policyOf returns the policy of an attack, and gives the release the label that it selects. It returns
// nil without a policy.
func policyOf(attack corpus.Attack, hr *helmv2.HelmRelease) *v1alpha1.ReleasePolicy {
	if attack.Policy == nil {
		return nil
	}
	hr.Labels = map[string]string{"attack": hr.Name}
	p := &v1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: hr.Name}, Spec: *attack.Policy.DeepCopy()}
	p.Spec.Selector = &metav1.LabelSelector{MatchLabels: hr.Labels}
	return p
}

// play creates the release, and measures it until the attack is over.
func (a *arena) play(ctx context.Context, hr *helmv2.HelmRelease, policy *v1alpha1.ReleasePolicy, o *outcome) error {
	w := a.memory.Begin()
	began := time.Now()
	defer func() { o.peakMiB = a.memory.End(w) }()
	if err := a.Env.Client.Create(ctx, hr); err != nil {
		return err
	}
	met, err := a.steps(ctx, hr, policy, o)
	o.took = time.Since(began)
	if !met || err != nil {
		return err
	}
	if o.attack.Page != nil {
		limited, cancel := context.WithTimeout(ctx, a.allowed(conditionLimit))
		defer cancel()
		if err := o.attack.Page(limited, a.page.of(hr.Namespace, hr.Name)); err != nil {
			o.broken = append(o.broken, err.Error())
		}
	}
	if o.attack.Dwell > 0 {
		a.dwell(ctx, o.attack.Dwell)
	}
	return a.alive(ctx)
}

// steps waits for the condition of each step. It ends at the first one that is not met.
func (a *arena) steps(ctx context.Context, hr *helmv2.HelmRelease, policy *v1alpha1.ReleasePolicy, o *outcome) (met bool, err error) {
	met, err = a.await(ctx, hr, o, o.attack.Outcome)
	for _, step := range o.attack.Later {
		if err != nil || !met {
			return met, err
		}
		if step.Policy != nil {
			patch := client.MergeFrom(policy.DeepCopy())
			step.Policy(&policy.Spec)
			if err := a.Env.Client.Patch(ctx, policy, patch); err != nil {
				return false, err
			}
		}
		if step.Edit != nil {
			patch := client.MergeFrom(hr.DeepCopy())
			step.Edit(hr)
			if err := a.Env.Client.Patch(ctx, hr, patch); err != nil {
				return false, err
			}
		}
		met, err = a.await(ctx, hr, o, step.Outcome)
	}
	return met, err
}

// objects returns which objects are missing, and which exist that must not.
func (a *arena) objects(ctx context.Context, present, never []client.Object) (broken []string) {
	for _, object := range never {
		if !apierrors.IsNotFound(a.Env.Client.Get(ctx, client.ObjectKeyFromObject(object), object)) {
			broken = append(broken, fmt.Sprintf("%T %s never exists", object, object.GetName()))
		}
	}
	for _, object := range present {
		if err := a.Env.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil || object.GetDeletionTimestamp() != nil {
			broken = append(broken, fmt.Sprintf("%T %s is not deleted: %v", object, object.GetName(), err))
		}
	}
	return broken
}

// await waits for a condition, and reports whether it was met.
func (a *arena) await(ctx context.Context, hr *helmv2.HelmRelease, o *outcome, want corpus.Outcome) (met bool, err error) {
	limit := a.allowed(conditionLimit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	met = a.poll(limited, func() bool {
		if a.Env.Client.Get(limited, client.ObjectKeyFromObject(hr), hr) != nil {
			return false
		}
		got := apimeta.FindStatusCondition(hr.Status.Conditions, want.Kind())
		if got == nil {
			return false
		}
		o.got = *got
		return got.ObservedGeneration == hr.Generation && want.Met(*got)
	})
	if ctx.Err() == nil && !met {
		o.broken = append(o.broken, fmt.Sprintf("no condition within %s: want %s", limit, want))
	}
	return met, a.alive(ctx)
}

// dwell keeps the release for a while, since the attack goes on after its condition.
func (a *arena) dwell(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	a.poll(ctx, func() bool { return a.Env.Controller.Ended() != nil })
}

// alive returns an error if the controller has ended.
func (a *arena) alive(ctx context.Context) error {
	if err := a.Env.Controller.Ended(); err != nil {
		return fmt.Errorf("%w; its log ends:\n%s", err, a.Env.Controller.LogTail(30))
	}
	return ctx.Err()
}

// poll calls look until it returns true or the context ends, and returns whether it did.
func (a *arena) poll(ctx context.Context, look func() bool) bool {
	return wait.PollUntilContextCancel(ctx, pollEvery, true, func(context.Context) (bool, error) { return look(), nil }) == nil
}

// remove deletes the policy, which would hold the uninstall, and the release. What is installed in a
// hostile cluster stays there.
func (a *arena) remove(ctx context.Context, hr *helmv2.HelmRelease, policy *v1alpha1.ReleasePolicy, o *outcome) error {
	limit := a.allowed(deletionLimit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if policy != nil {
		if err := a.Env.Client.Delete(limited, policy); err != nil {
			return err
		}
	}
	if hr.Spec.KubeConfig != nil {
		patch := client.MergeFrom(hr.DeepCopy())
		metav1.SetMetaDataAnnotation(&hr.ObjectMeta, helmv2.AnnotationOrphan, "true")
		if err := a.Env.Client.Patch(limited, hr, patch); err != nil {
			return err
		}
	}
	if err := a.Env.Client.Delete(limited, hr); err != nil {
		return err
	}
	gone := a.poll(limited, func() bool {
		return apierrors.IsNotFound(a.Env.Client.Get(limited, client.ObjectKeyFromObject(hr), hr))
	})
	if !gone && ctx.Err() == nil {
		o.broken = append(o.broken, fmt.Sprintf("the release is not deleted after %s: %s", limit, harness.Summary(hr)))
	}
	return nil
}
