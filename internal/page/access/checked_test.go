// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// live are the objects and the records that a release reads, with a log of what it read.
type live struct {
	reads []string
	// as is the HelmRelease whose identity was used.
	as  *helmv2.HelmRelease
	err error
}

// newReader returns a reader for a user with some rights. The live objects are a Secret, a Pod and a
// Node.
func newReader(t *testing.T, hr *helmv2.HelmRelease, rights ...string) (*read.Reader, *live) {
	t.Helper()
	v, _ := newViewer(t, rights, hr)
	l := &live{}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Secret", "Pod"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), apimeta.RESTScopeNamespace)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), apimeta.RESTScopeRoot)
	mapper.Add(helmv2.GroupVersion.WithKind("HelmRelease"), apimeta.RESTScopeNamespace)
	in := metav1.ObjectMeta{Namespace: "apps", Name: "one"}
	objects := fake.NewClientBuilder().WithScheme(v.Scheme).WithObjects(&corev1.Secret{ObjectMeta: in}, &corev1.Pod{ObjectMeta: in}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}})
	objects.WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			l.reads = append(l.reads, fmt.Sprintf("get %T %s", obj, key))
			return errors.Join(l.err, c.Get(ctx, key, obj, opts...))
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			l.reads = append(l.reads, fmt.Sprintf("list %T", list))
			return errors.Join(l.err, c.List(ctx, list, opts...))
		},
	})
	v.As = func(_ context.Context, hr *helmv2.HelmRelease) (*read.Reader, error) {
		l.as = hr
		return &read.Reader{
			Client: objects.Build(), Mapper: mapper,
			Stored: func(_ context.Context, target release.Target, version int) (*read.Record, error) {
				l.reads = append(l.reads, fmt.Sprintf("record %s/%s %d", target.StorageNamespace, target.Name, version))
				return &read.Record{}, l.err
			},
			Examine: func(_ context.Context, q release.DiagnosisRequest) *release.Diagnosis {
				for _, o := range q.Objects {
					l.reads = append(l.reads, fmt.Sprintf("examine %s/%s brief=%v", o.Object.Namespace, o.Object.Name, q.Brief))
				}
				return &release.Diagnosis{Summary: "a cause"}
			},
		}, nil
	}
	reader, err := v.Reader(t.Context(), hr)
	if err != nil {
		t.Fatal(err)
	}
	return reader, l
}

// TestChecked: each read needs a right of the user, and without it nothing is read.
func TestChecked(t *testing.T) {
	key := client.ObjectKey{Namespace: "apps", Name: "one"}
	target := release.Target{Name: "web", StorageNamespace: "apps"}
	for name, tc := range map[string]struct {
		// need is the right, and reads what is read with it.
		need, reads string
		read        func(ctx context.Context, r *read.Reader) error
	}{
		"Secret": {
			need: "get secrets apps", reads: "get *v1.Secret apps/one",
			read: func(ctx context.Context, r *read.Reader) error { return r.Client.Get(ctx, key, &corev1.Secret{}) },
		},
		"SecretByName": {
			need: "get secrets apps one", reads: "get *v1.Secret apps/one",
			read: func(ctx context.Context, r *read.Reader) error { return r.Client.Get(ctx, key, &corev1.Secret{}) },
		},
		"Node": {
			need: "get nodes", reads: "get *v1.Node apps/one",
			read: func(ctx context.Context, r *read.Reader) error {
				return client.IgnoreNotFound(r.Client.Get(ctx, key, &corev1.Node{}))
			},
		},
		"Pods": {
			need: "list pods apps", reads: "list *v1.PodList",
			read: func(ctx context.Context, r *read.Reader) error {
				return r.Client.List(ctx, &corev1.PodList{}, client.InNamespace("apps"))
			},
		},
		"MetadataOfSecrets": {
			need: "list secrets apps", reads: "list *v1.PartialObjectMetadataList",
			read: func(ctx context.Context, r *read.Reader) error {
				list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
				return r.Client.List(ctx, list, client.InNamespace("apps"))
			},
		},
		"AllPods": {
			need: "list pods", reads: "list *v1.PodList",
			read: func(ctx context.Context, r *read.Reader) error { return r.Client.List(ctx, &corev1.PodList{}) },
		},
		"Record": {
			need: "get secrets apps", reads: "record apps/web 3",
			read: func(ctx context.Context, r *read.Reader) error {
				_, err := r.Stored(ctx, target, 3)
				return err
			},
		},
		// HelmReleases are those that the controller keeps.
		"HelmRelease": {
			need: "get helmreleases apps",
			read: func(ctx context.Context, r *read.Reader) error {
				return r.Client.Get(ctx, client.ObjectKey{Namespace: "apps", Name: "web"}, &helmv2.HelmRelease{})
			},
		},
		"HelmReleases": {
			need: "list helmreleases apps",
			read: func(ctx context.Context, r *read.Reader) error {
				return r.Client.List(ctx, &helmv2.HelmReleaseList{}, client.InNamespace("apps"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			reader, l := newReader(t, newRelease("apps", "web"), tc.need)
			if err := tc.read(t.Context(), reader); err != nil || strings.Join(l.reads, ", ") != tc.reads {
				t.Errorf("with the right: %v, reads %q", err, l.reads)
			}
			reader, l = newReader(t, newRelease("apps", "web"), "get secrets other", "get secrets apps other", "list pods other", "get nodes x", "list nodes", "get pods apps")
			if err := tc.read(t.Context(), reader); !apierrors.IsForbidden(err) || len(l.reads) > 0 {
				t.Errorf("without the right: %v, reads %q", err, l.reads)
			}
		})
	}
}

// TestExamine: causes need Pods and events, and their logs need a right of their own.
func TestExamine(t *testing.T) {
	objects := []release.UnreadyObject{{Object: release.Object{Namespace: "apps", Name: "one"}}, {Object: release.Object{Namespace: "other", Name: "two"}}}
	for name, tc := range map[string]struct {
		rights []string
		reads  []string
		detail string
	}{
		"None":     {rights: []string{"get pods/log"}},
		"NoEvents": {rights: []string{"get pods/log", "list pods"}},
		"NoLogs": {
			rights: []string{"list pods apps", "list events apps"}, reads: []string{"examine apps/one brief=true"},
			detail: "Logs are not shown: you need the right to get pods/log in namespace apps.",
		},
		"OneNamespace": {
			rights: []string{"list pods apps", "list events apps", "get pods/log apps"}, reads: []string{"examine apps/one brief=false"},
		},
		"LogsOfOne": {
			rights: []string{"list pods", "list events", "get pods/log apps"}, reads: []string{"examine apps/one brief=true", "examine other/two brief=true"},
			detail: "Logs are not shown: you need the right to get pods/log in namespace other.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			reader, l := newReader(t, newRelease("apps", "web"), tc.rights...)
			found := reader.Examine(t.Context(), release.DiagnosisRequest{Objects: objects})
			if !slices.Equal(l.reads, tc.reads) || (found == nil) != (len(tc.reads) == 0) {
				t.Errorf("reads %q, found %+v", l.reads, found)
			}
			if found != nil && strings.Join(found.Details, " ") != tc.detail {
				t.Errorf("details %q", found.Details)
			}
		})
	}
}

// TestOtherCluster: another cluster is not read, and its identity is not used.
func TestOtherCluster(t *testing.T) {
	hr := newRelease("apps", "web")
	hr.Spec.KubeConfig = &helmv2.KubeConfigReference{}
	reader, l := newReader(t, hr, "get secrets", "list secrets")
	if l.as.Spec.KubeConfig != nil || hr.Spec.KubeConfig == nil {
		t.Errorf("the identity is that of %+v", l.as.Spec.KubeConfig)
	}
	if reader.Stored != nil || reader.Examine != nil {
		t.Error("records and causes can be read")
	}
	if _, err := reader.Tree(t.Context(), hr); err == nil {
		t.Error("objects are read")
	}
}

// TestPublic: errors have no address and no text of a server.
func TestPublic(t *testing.T) {
	secret := "10.0.0.1"
	resource := schema.GroupResource{Resource: "secrets"}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"Connection": {fmt.Errorf("dial tcp %s:6443: connection refused", secret), "it could not be read, and the log of the controller has the error"},
		"Forbidden":  {apierrors.NewForbidden(resource, "one", errors.New(secret)), "the identity of the release may not read it"},
		"NotFound":   {apierrors.NewNotFound(resource, secret), "it does not exist"},
		"Timeout":    {apierrors.NewTimeoutError(secret, 1), "the API server did not answer in time"},
		"Deadline":   {fmt.Errorf("%s: %w", secret, context.DeadlineExceeded), "the API server did not answer in time"},
		"NoKind":     {&apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: secret}}, "its kind is not served"},
		"Page":       {apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", resource, "one", secret, 0, true), "it could not be read, and the log of the controller has the error"},
		"Denied":     {&Denied{Right: toSecrets("apps")}, "you need the right to get secrets in namespace apps"},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := newViewer(t, nil)
			got := v.public(tc.err)
			if got.Error() != tc.want || !errors.Is(got, tc.err) {
				t.Errorf("got %q", got)
			}
			if b := v.publicValues(release.BlockedBy(helmv2.ReasonArtifactFailed, tc.err, "Could not load values")); strings.Contains(b.Error(), secret) {
				t.Errorf("values: %q", b)
			}
			if again := v.public(fmt.Errorf("more: %w", got)); again.Error() != "more: "+tc.want {
				t.Errorf("again: %q", again)
			}
		})
	}
	reader, l := newReader(t, newRelease("apps", "web"), "get secrets", "list secrets")
	l.err = fmt.Errorf("https://%s: connection refused", secret)
	key := client.ObjectKey{Namespace: "apps", Name: "one"}
	_, stored := reader.Stored(t.Context(), release.Target{}, 1)
	for _, err := range []error{
		reader.Client.Get(t.Context(), key, &corev1.Secret{}), reader.Client.List(t.Context(), &corev1.SecretList{}), stored,
		reader.Redacted.Get(t.Context(), key, &corev1.Secret{}), reader.Redacted.List(t.Context(), &corev1.SecretList{}),
	} {
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("got %v", err)
		}
	}
}

// TestIdentityError: an error of the connection has no address either.
func TestIdentityError(t *testing.T) {
	v, _ := newViewer(t, nil)
	v.As = func(context.Context, *helmv2.HelmRelease) (*read.Reader, error) {
		return nil, errors.New("https://10.0.0.1")
	}
	if _, err := v.Reader(t.Context(), newRelease("apps", "web")); err == nil || strings.Contains(err.Error(), "10.0.0.1") {
		t.Errorf("got %v", err)
	}
}

// TestPublicValues: what is wrong with a file is shown, and the answer of a server is not.
func TestPublicValues(t *testing.T) {
	t.Parallel()
	v, _ := newViewer(t, nil)
	file := release.BlockedBy(helmv2.ReasonValuesError, errors.New("the artifact has no such file"), "values")
	if got := v.publicValues(file); got.Error() != file.Error() {
		t.Errorf("got %q", got)
	}
	denied := release.BlockedBy(helmv2.ReasonArtifactFailed, &Denied{Right: toSecrets("apps")}, "source")
	if got := v.publicValues(denied); got.Error() != denied.Error() {
		t.Errorf("got %q", got)
	}
	late := release.BlockedBy(helmv2.ReasonArtifactFailed, fmt.Errorf("artifact http://10.0.0.1: %w", inputs.ErrNotInTime), "Could not load values")
	if got := v.publicValues(late); got.Error() != "it was not downloaded in time" {
		t.Errorf("got %q", got)
	}
	download := release.BlockedBy(helmv2.ReasonArtifactFailed, errors.New("http://10.0.0.1: refused"), "Could not load values")
	if got := v.publicValues(download); got.Error() != "it could not be read, and the log of the controller has the error" {
		t.Errorf("got %q", got)
	}
}
