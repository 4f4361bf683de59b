// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/watch"
)

// lookout is a registry that watches the real API server, and the keys that it enqueued.
type lookout struct {
	*world
	*watch.Registry
	key  types.NamespacedName
	ours client.FieldOwner

	mu       sync.Mutex
	enqueued map[types.NamespacedName]int
}

// newLookout starts one, for the namespace of the test.
func newLookout(t *testing.T) *lookout {
	t.Helper()
	l := &lookout{world: newWorld(t), ours: client.FieldOwner(helmv2.FieldManager), enqueued: map[types.NamespacedName]int{}}
	l.key = types.NamespacedName{Namespace: l.namespace, Name: "app"}
	l.Registry = watch.NewRegistry(func(key types.NamespacedName) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.enqueued[key]++
	}, watch.Options{Namespace: l.namespace})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *lookout) cluster(config *rest.Config) watch.Cluster {
	return watch.Cluster{ID: "it", Client: func() (metadata.Interface, error) { return metadata.NewForConfig(config) }}
}

func resourceOf(group, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
}

// eventually waits until a condition holds.
func (l *lookout) eventually(what string, holds func() bool) {
	l.t.Helper()
	untilTrue(l.world, what, holds)
}

// untilKnown waits until a kind is watched.
func (l *lookout) untilKnown(resource schema.GroupVersionResource) {
	l.t.Helper()
	l.eventually(resource.Resource+" are watched", func() bool {
		return l.Observed("it", resource, l.namespace, "x").Known
	})
}

// untilHeard waits until the watch has received the current version of an object, and returns the
// watch's state of it.
func (l *lookout) untilHeard(resource schema.GroupVersionResource, o client.Object) watch.Observation {
	l.t.Helper()
	var m watch.Observation
	l.eventually("the watch receives "+o.GetName(), func() bool {
		m = l.Observed("it", resource, l.namespace, o.GetName())
		return watch.Observation{Known: true, At: m.At}.ChangedSince("any", o.GetResourceVersion())
	})
	return m
}

// untilEnqueued waits until the key was enqueued, and resets the record.
func (l *lookout) untilEnqueued(why string, key types.NamespacedName) {
	l.t.Helper()
	l.eventually(why+" enqueues "+key.Name, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.enqueued[key] > 0
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.enqueued)
}

// quiet fails if a key was enqueued, and resets the record.
func (l *lookout) quiet(why string) {
	l.t.Helper()
	untilTrue(l.world, "the debounce", func() bool { return !l.Scheduled(l.key) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.enqueued) != 0 {
		l.t.Errorf("%s enqueues %v", why, l.enqueued)
	}
	clear(l.enqueued)
}

func (l *lookout) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: l.namespace, Name: name, Labels: map[string]string{
		helmv2.LabelName: l.key.Name, helmv2.LabelNamespace: l.key.Namespace,
	}}
}

// nextSecond waits until new entries of managedFields have another time than existing ones.
func nextSecond() {
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second + 10*time.Millisecond)))
}

func (l *lookout) deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "app"}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: l.meta("app"),
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
			},
		},
	}
}

// TestObjectWatch: the changes of a Deployment, which has a generation, that enqueue its release.
func TestObjectWatch(t *testing.T) {
	t.Parallel()
	l := newLookout(t)
	deployments := resourceOf("apps", "deployments")
	l.WatchKinds(l.key, l.cluster(suite.config), []schema.GroupVersionResource{deployments})
	l.untilKnown(deployments)
	l.untilEnqueued("the first list", l.key)
	ctx := t.Context()
	if m := l.Observed("it", deployments, l.namespace, "app"); m.Present || m.At == "" {
		t.Errorf("before: %+v", m)
	}

	d := l.deployment()
	d.Labels["ours"] = "yes"
	l.must(suite.client.Create(ctx, d, l.ours))
	m := l.untilHeard(deployments, d)
	l.quiet("the creation by Pintle")
	if !m.Present || m.UID != d.UID || m.Version != d.ResourceVersion || m.ChangedSince(string(d.UID), d.ResourceVersion) {
		t.Errorf("created at %s: %+v", d.ResourceVersion, m)
	}
	clean := d.ResourceVersion

	d.Status.Replicas, d.Status.ObservedGeneration = 1, 1
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	l.must(suite.client.Status().Update(ctx, d, client.FieldOwner("kube-controller-manager")))
	m = l.untilHeard(deployments, d)
	l.quiet("a status")
	if m.ChangedSince(string(d.UID), clean) {
		t.Errorf("a status matters: %+v", m)
	}

	nextSecond()
	d.Spec.Template.Spec.Containers[0].Image = "app:2"
	l.must(suite.client.Update(ctx, d, l.ours))
	m = l.untilHeard(deployments, d)
	l.quiet("a change by Pintle")
	if !m.ChangedSince(string(d.UID), clean) || m.ChangedSince(string(d.UID), d.ResourceVersion) {
		t.Errorf("the change by Pintle at %s: %+v", d.ResourceVersion, m)
	}
	clean = d.ResourceVersion

	l.must(suite.client.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(&autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}, Spec: autoscalingv1.ScaleSpec{Replicas: 3},
	})))
	l.untilEnqueued("scaling", l.key)
	if m := l.Observed("it", deployments, l.namespace, "app"); !m.ChangedSince(string(d.UID), clean) {
		t.Errorf("scaled: %+v", m)
	}
	l.must(suite.client.Get(ctx, client.ObjectKeyFromObject(d), d))
	d.Annotations["editor"] = "was here"
	l.must(suite.client.Update(ctx, d, client.FieldOwner("kubectl-edit")))
	if m := l.untilHeard(deployments, d); m.Version != d.ResourceVersion {
		t.Errorf("an annotation at %s is not worth a look: %+v", d.ResourceVersion, m)
	}
	l.quiet("an annotation of another client")
	// A manager that removes a field leaves no entry.
	delete(d.Labels, "ours")
	l.must(suite.client.Update(ctx, d, client.FieldOwner("kubectl-edit")))
	l.untilEnqueued("a label less", l.key)

	other := types.NamespacedName{Namespace: l.namespace, Name: "other"}
	l.WatchKinds(other, l.cluster(suite.config), []schema.GroupVersionResource{deployments})
	delete(d.Labels, helmv2.LabelName)
	l.must(suite.client.Update(ctx, d, client.FieldOwner("kubectl-label")))
	l.untilEnqueued("the label removed", l.key)
	if m := l.Observed("it", deployments, l.namespace, "app"); m.Present || !m.ChangedSince(string(d.UID), clean) {
		t.Errorf("without its label: %+v", m)
	}
	d.Labels[helmv2.LabelName] = "other"
	l.must(suite.client.Update(ctx, d, client.FieldOwner("kubectl-label")))
	l.untilEnqueued("the label of another", other)
	l.must(suite.client.Delete(ctx, d))
	l.untilEnqueued("a deletion", other)
}

// TestObjectWatchPlain: the changes of objects without generation, a Service and a ConfigMap, that
// enqueue their release.
func TestObjectWatchPlain(t *testing.T) {
	t.Parallel()
	l := newLookout(t)
	services, configs := resourceOf("", "services"), resourceOf("", "configmaps")
	cm := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: l.meta("config"), Data: map[string]string{"a": "1", "b": "2"}}
	l.must(suite.client.Create(t.Context(), cm, client.FieldOwner("editor")))
	// The first list of each kind enqueues. Both at once may enqueue once or twice.
	l.WatchKinds(l.key, l.cluster(suite.config), []schema.GroupVersionResource{services})
	l.untilKnown(services)
	l.untilEnqueued("the first list of Services", l.key)
	l.WatchKinds(l.key, l.cluster(suite.config), []schema.GroupVersionResource{services, configs})
	l.untilKnown(configs)
	l.untilEnqueued("the first list of ConfigMaps", l.key)
	if m := l.Observed("it", configs, l.namespace, "config"); m.UID != cm.UID || m.ChangedSince(string(cm.UID), cm.ResourceVersion) {
		t.Errorf("listed: %+v", m)
	}

	svc := &corev1.Service{ObjectMeta: l.meta("app"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Type: corev1.ServiceTypeLoadBalancer}}
	l.must(suite.client.Create(t.Context(), svc, l.ours))
	l.untilHeard(services, svc)
	l.quiet("the creation by Pintle")
	clean := svc.ResourceVersion
	nextSecond()
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	l.must(suite.client.Status().Update(t.Context(), svc, client.FieldOwner("cloud")))
	m := l.untilHeard(services, svc)
	l.quiet("a status")
	if m.ChangedSince(string(svc.UID), clean) {
		t.Errorf("a status matters: %+v", m)
	}
	svc.Spec.Ports[0].Port = 81
	l.must(suite.client.Update(t.Context(), svc, client.FieldOwner("kubectl-edit")))
	l.untilEnqueued("an edit", l.key)

	// Another client removes a field of the release.
	nextSecond()
	cm.Data["a"] = "3"
	cm.ManagedFields = nil
	l.must(suite.client.Update(t.Context(), cm, l.ours))
	l.untilHeard(configs, cm)
	l.quiet("a change by Pintle")
	delete(cm.Data, "a")
	l.must(suite.client.Update(t.Context(), cm, client.FieldOwner("kubectl-edit")))
	l.untilEnqueued("a key less", l.key)

	l.must(suite.client.Delete(t.Context(), cm))
	l.untilEnqueued("a deletion", l.key)
	if m := l.Observed("it", configs, l.namespace, "config"); m.Present || !m.ChangedSince(string(cm.UID), cm.ResourceVersion) {
		t.Errorf("deleted: %+v", m)
	}
}

// TestObjectWatchDefinitions: a kind is watched after its CRD was created, and its objects are gone
// after the CRD was deleted.
func TestObjectWatchDefinitions(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	l := newLookout(t)
	group := l.namespace + ".example.com"
	things := resourceOf(group, "things")
	l.WatchKinds(l.key, l.cluster(suite.config), []schema.GroupVersionResource{things})
	thing := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	thing.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"})
	meta := l.meta("thing")
	thing.SetNamespace(meta.Namespace)
	thing.SetName(meta.Name)
	thing.SetLabels(meta.Labels)
	l.define(group)
	l.Retry("it")
	l.untilKnown(things)
	l.eventually("another client creates one", func() bool {
		return suite.client.Create(t.Context(), thing, client.FieldOwner("kubectl-create")) == nil
	})
	l.untilEnqueued("a new one", l.key)
	if m := l.untilHeard(things, thing); m.UID != thing.GetUID() || m.Version != thing.GetResourceVersion() {
		t.Errorf("created at %s: %+v", thing.GetResourceVersion(), m)
	}
	l.must(suite.client.Delete(t.Context(), l.definitionObject(group)))
	l.untilEnqueued("the definition goes", l.key)
	l.eventually("the kind is forgotten", func() bool {
		return !l.Observed("it", things, l.namespace, "thing").Known && l.Stats().Objects == 0
	})
	l.eventually("the definition is gone", func() bool { return l.definition(group) == nil })
	l.define(group)
	l.Retry("it")
	l.untilKnown(things)
	if m := l.Observed("it", things, l.namespace, "thing"); m.Present || !m.ChangedSince(string(thing.GetUID()), thing.GetResourceVersion()) {
		t.Errorf("defined again: %+v", m)
	}
}

// TestObjectWatchForbidden: without permission to watch, objects are unknown; they are known once
// the permission is granted.
func TestObjectWatchForbidden(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	l := newLookout(t)
	l.account("watcher", "pods")
	config := rest.CopyConfig(suite.config)
	config.Impersonate.UserName = "system:serviceaccount:" + l.namespace + ":watcher"
	configs := resourceOf("", "configmaps")
	l.WatchKinds(l.key, l.cluster(config), []schema.GroupVersionResource{configs, resourceOf("", "pods")})
	l.untilKnown(resourceOf("", "pods"))
	cm := &corev1.ConfigMap{ObjectMeta: l.meta("config")}
	l.must(suite.client.Create(t.Context(), cm, client.FieldOwner("editor")))
	if m := l.Observed("it", configs, l.namespace, "config"); m.Known || !m.ChangedSince(string(cm.UID), cm.ResourceVersion) {
		t.Errorf("forbidden: %+v", m)
	}
	role := &rbacv1.Role{}
	l.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: l.namespace, Name: "watcher"}, role))
	role.Rules[0].Resources = append(role.Rules[0].Resources, "configmaps")
	l.must(suite.client.Update(t.Context(), role))
	l.untilKnown(configs)
	l.untilEnqueued("the first list", l.key)
	cm.Data = map[string]string{"a": "b"}
	l.must(suite.client.Update(t.Context(), cm, client.FieldOwner("editor")))
	l.untilEnqueued("a change", l.key)
}
