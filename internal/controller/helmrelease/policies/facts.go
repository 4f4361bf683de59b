// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// labelsAge is how old the labels of a namespace may be. Namespaces are not watched.
	labelsAge = time.Minute
	// unreadAge is how long a failed read is not repeated.
	unreadAge = 5 * time.Second
	// repositoryAge is how long an unused HelmRepository is cached.
	repositoryAge = 24 * time.Hour
)

// facts reads the objects that policies are compared with, as few times as possible.
type facts struct {
	// cached reads HelmCharts from the cache, live reads past the cache.
	cached, live client.Reader
	now          func() time.Time

	mu         sync.Mutex
	namespaces map[string]namespaceRead
	// repositories has the HelmRepository of each HelmChart.
	repositories map[types.NamespacedName]repositoryRead
}

// namespaceRead is the result of reading a namespace: its labels, or why they are not known.
type namespaceRead struct {
	labels map[string]string
	unread string
	until  time.Time
}

// repositoryRead is a HelmRepository as of a version of a HelmChart. It has the fields that policies
// are compared with.
type repositoryRead struct {
	version string
	object  *sourcev1.HelmRepository
	// used is the time of the last use.
	used time.Time
}

// namespace returns the labels of a namespace, or why they are not known.
func (f *facts) namespace(ctx context.Context, name string) (labels map[string]string, unread string) {
	f.mu.Lock()
	read, found := f.namespaces[name]
	f.mu.Unlock()
	if found && f.now().Before(read.until) {
		return read.labels, read.unread
	}
	var ns corev1.Namespace
	if err := f.live.Get(ctx, types.NamespacedName{Name: name}, &ns); err != nil {
		read = namespaceRead{until: f.now().Add(unreadAge)}
		read.unread, _ = apiretry.Describe(err)
	} else {
		read = namespaceRead{labels: ns.Labels, until: f.now().Add(labelsAge)}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.namespaces == nil {
		f.namespaces = map[string]namespaceRead{}
	}
	now := f.now()
	maps.DeleteFunc(f.namespaces, func(_ string, r namespaceRead) bool { return !now.Before(r.until) })
	f.namespaces[name] = read
	return read.labels, read.unread
}

// locate returns a chart with the facts of its HelmRepository, and the HelmRepository; nil if the
// controller may not read it. A HelmRepository that is refused, or that the HelmChart does not name as
// fetched, is read each time. Any other one is read once for each version of the HelmChart: if the URL
// changes, source-controller fetches the chart anew and changes the HelmChart.
func (f *facts) locate(ctx context.Context, c policy.Chart, repository string, source client.Object) (policy.Chart, *sourcev1.HelmRepository, error) {
	key := client.ObjectKeyFromObject(source)
	version, err := f.version(ctx, source)
	if err != nil {
		return c, nil, err
	}
	f.mu.Lock()
	read, found := f.repositories[key]
	f.mu.Unlock()
	if found && version != "" && read.version == version && read.object.Name == repository {
		f.remember(key, read)
		return inputs.InRepository(c, read.object), read.object, nil
	}
	var repo sourcev1.HelmRepository
	switch err := f.live.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: repository}, &repo); {
	case apierrors.IsForbidden(err):
		c.Unlocated = policy.Fault{Field: c.Located, Why: fmt.Sprintf("the controller may not read HelmRepository '%s/%s'", key.Namespace, repository)}
		return c, nil, nil
	case err != nil:
		return c, nil, release.BlockedBy(helmv2.ReasonPolicyUnavailable, err, "Could not read HelmRepository '%s/%s', whose URL a policy restricts", key.Namespace, repository)
	}
	repo.ObjectMeta = metav1.ObjectMeta{Namespace: repo.Namespace, Name: repo.Name, Generation: repo.Generation}
	repo.Status.Conditions = nil
	// A HelmChart that was not applied yet names no index.
	if c = inputs.InRepository(c, &repo); source.GetUID() != "" && c.Unproven == (policy.Fault{}) && inputs.Unfetched(source, &repo) == nil {
		f.remember(key, repositoryRead{version: version, object: &repo})
	}
	return c, &repo, nil
}

// remember stores a HelmRepository.
func (f *facts) remember(key types.NamespacedName, read repositoryRead) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.repositories == nil {
		f.repositories = map[types.NamespacedName]repositoryRead{}
	}
	now := f.now()
	maps.DeleteFunc(f.repositories, func(_ types.NamespacedName, r repositoryRead) bool { return now.Sub(r.used) > repositoryAge })
	read.used = now
	f.repositories[key] = read
}

// version returns the resourceVersion of a HelmChart; empty if it does not exist. A HelmChart that is
// to be applied has none.
func (f *facts) version(ctx context.Context, source client.Object) (string, error) {
	if source.GetUID() != "" {
		return source.GetResourceVersion(), nil
	}
	var have sourcev1.HelmChart
	err := f.cached.Get(ctx, client.ObjectKeyFromObject(source), &have)
	if client.IgnoreNotFound(err) != nil {
		return "", release.BlockedBy(helmv2.ReasonPolicyUnavailable, err, "Could not read HelmChart '%s'", client.ObjectKeyFromObject(source))
	}
	return have.ResourceVersion, nil
}
