// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// server answers reviews, and counts them.
type server struct {
	client.Writer

	mu sync.Mutex
	// rights are those of all users: "verb resource namespace name".
	rights map[string]bool
	// tokens have their users.
	tokens map[string]string
	err    error
	// asked are the rights of all reviews, sent those of users, and read the number of TokenReviews.
	asked []string
	sent  []authorizationv1.SubjectAccessReviewSpec
	read  int
}

func (s *server) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	switch review := obj.(type) {
	case *authorizationv1.SubjectAccessReview:
		a := review.Spec.ResourceAttributes
		resource := a.Resource
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		right := strings.TrimSpace(strings.Join([]string{a.Verb, resource, a.Namespace, a.Name}, " "))
		s.asked, s.sent = append(s.asked, right), append(s.sent, review.Spec)
		review.Status.Allowed = s.rights[right]
	case *authenticationv1.TokenReview:
		s.read++
		if name := s.tokens[review.Spec.Token]; name != "" {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: name}}
		}
	}
	return nil
}

func (s *server) reviews() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked
	s.asked = nil
	return all
}

// newViewer returns a user with some rights, and the server that answers their reviews.
func newViewer(t *testing.T, rights []string, objects ...client.Object) (*Viewer, *server) {
	t.Helper()
	scheme, err := read.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{rights: map[string]bool{}}
	for _, r := range rights {
		s.rights[r] = true
	}
	kept := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	c := newClock()
	return &Viewer{
		Source: &Source{Rights: NewRights(s, c.now), Kept: kept, Scheme: scheme, Now: c.now},
		User:   &authenticationv1.UserInfo{Username: "ann"},
	}, s
}

func newRelease(namespace, name string) *helmv2.HelmRelease {
	return &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// TestCheck: rights are checked for all namespaces, then for one, then for one object.
func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		rights []string
		right  authorizationv1.ResourceAttributes
		asked  []string
		denied string
	}{
		"Everywhere": {
			rights: []string{"get helmreleases"}, right: ofHelmReleases("apps", "web"), asked: []string{"get helmreleases"},
		},
		"Namespace": {
			rights: []string{"get helmreleases apps"}, right: ofHelmReleases("apps", "web"), asked: []string{"get helmreleases", "get helmreleases apps"},
		},
		"Object": {
			rights: []string{"get helmreleases apps web"}, right: ofHelmReleases("apps", "web"),
			asked: []string{"get helmreleases", "get helmreleases apps", "get helmreleases apps web"},
		},
		"OtherObject": {
			rights: []string{"get helmreleases apps web", "list helmreleases"}, right: ofHelmReleases("apps", "api"),
			asked:  []string{"get helmreleases", "get helmreleases apps", "get helmreleases apps api"},
			denied: "you need the right to get helmreleases.helm.toolkit.fluxcd.io in namespace apps",
		},
		"AllNamespaces": {
			rights: []string{"get helmreleases apps"}, right: ofHelmReleases("", ""), asked: []string{"get helmreleases"},
			denied: "you need the right to get helmreleases.helm.toolkit.fluxcd.io in all namespaces",
		},
		"Logs": {
			right: authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "apps"}, asked: []string{"get pods/log", "get pods/log apps"},
			denied: "you need the right to get pods/log in namespace apps",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, s := newViewer(t, tc.rights)
			for range 2 {
				err := v.Check(t.Context(), tc.right)
				if denied := fmt.Sprint(err); (err != nil || tc.denied != "") && (denied != tc.denied || !apierrors.IsForbidden(err)) {
					t.Errorf("got %v, want %q", err, tc.denied)
				}
			}
			// The second check needs no review.
			if asked := s.reviews(); !slices.Equal(asked, tc.asked) {
				t.Errorf("reviews %q, want %q", asked, tc.asked)
			}
		})
	}
}

// TestUserIsTheKey: an answer is used only for a user who is the same in all respects.
func TestUserIsTheKey(t *testing.T) {
	v, s := newViewer(t, nil)
	for _, user := range []authenticationv1.UserInfo{
		{Username: "ann"},
		{Username: "bob"},
		{Username: "ann", UID: "1"},
		{Username: "ann", Groups: []string{"a"}},
		{Username: "ann", Groups: []string{"a", "b"}},
		{Username: "ann", Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a"}}},
		{Username: "ann", Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a", "b"}}},
	} {
		for range 2 {
			if _, err := v.Rights.Allowed(t.Context(), &user, ofHelmReleases("apps", "")); err != nil {
				t.Fatal(err)
			}
		}
		sent := s.sent[len(s.sent)-1]
		if sent.User != user.Username || sent.UID != user.UID || !slices.Equal(sent.Groups, user.Groups) || len(sent.Extra) != len(user.Extra) {
			t.Errorf("the review of %+v has %+v", user, sent)
		}
	}
	if n := len(s.reviews()); n != 7 {
		t.Errorf("%d reviews of 7 users", n)
	}
}

// TestReleases: a user sees the HelmReleases of their namespaces. A user of all namespaces costs one
// review, another user one for each namespace.
func TestReleases(t *testing.T) {
	var objects []client.Object
	for _, namespace := range []string{"a", "b", "c"} {
		objects = append(objects, newRelease(namespace, "one"), newRelease(namespace, "two"))
	}
	for name, tc := range map[string]struct {
		rights        []string
		want, reviews int
	}{
		"All":       {rights: []string{"get helmreleases"}, want: 6, reviews: 1},
		"Namespace": {rights: []string{"get helmreleases b"}, want: 2, reviews: 4},
		"None":      {rights: []string{"list helmreleases", "get helmreleases a one"}, reviews: 4},
	} {
		t.Run(name, func(t *testing.T) {
			v, s := newViewer(t, tc.rights, objects...)
			for range 2 {
				all, err := v.Releases(t.Context())
				if err != nil || len(all) != tc.want {
					t.Errorf("%d HelmReleases, %v", len(all), err)
				}
			}
			if asked := s.reviews(); len(asked) != tc.reviews {
				t.Errorf("reviews: %q", asked)
			}
			s.err = errors.New("unavailable")
			v.User = &authenticationv1.UserInfo{Username: "bob"}
			if _, err := v.Releases(t.Context()); err == nil {
				t.Error("without reviews, HelmReleases are listed")
			}
		})
	}
}

// TestNamespacesOfMany: 3,000 namespaces are reviewed once each.
func TestNamespacesOfMany(t *testing.T) {
	v, s := newViewer(t, []string{"get helmreleases n7"})
	var namespaces []string
	for n := range 3000 {
		namespaces = append(namespaces, fmt.Sprintf("n%d", n))
	}
	for range 2 {
		allowed, err := v.Namespaces(t.Context(), ofHelmReleases("ignored", "ignored"), namespaces)
		if err != nil || !maps.Equal(allowed, map[string]bool{"n7": true}) {
			t.Errorf("%v, %v", allowed, err)
		}
	}
	if n := len(s.reviews()); n != 3001 {
		t.Errorf("%d reviews", n)
	}
}

// TestRelease: rights are checked before anything is read, so that a HelmRelease that exists and one
// that does not are alike to users who may not get it.
func TestRelease(t *testing.T) {
	v, s := newViewer(t, []string{"get helmreleases apps"}, newRelease("apps", "web"), newRelease("other", "web"))
	if hr, err := v.Release(t.Context(), "apps", "web"); err != nil || hr.Name != "web" {
		t.Errorf("%v, %v", hr, err)
	}
	if _, err := v.Release(t.Context(), "apps", "missing"); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	s.reviews()
	v.Kept = nil
	var texts []string
	for _, name := range []string{"web", "missing"} {
		_, err := v.Release(t.Context(), "other", name)
		if !apierrors.IsForbidden(err) {
			t.Errorf("got %v", err)
		}
		texts = append(texts, fmt.Sprint(err))
	}
	if texts[0] != texts[1] {
		t.Errorf("different errors: %q", texts)
	}
}

// TestContents: values, manifests and diffs need Secrets of the storage namespace whose revisions a
// comparison reads: that of the spec, or the recorded one of a release that has moved.
func TestContents(t *testing.T) {
	for _, tc := range []struct {
		spec, status string
		released     bool
		want         string
	}{
		{"", "", false, "apps"},
		{"store", "", false, "store"},
		{"store", "former", false, "store"},
		{"store", "former", true, "former"},
		{"store", "store", true, "store"},
	} {
		v, s := newViewer(t, nil)
		hr := newRelease("apps", "web")
		hr.Spec.StorageNamespace, hr.Status.StorageNamespace = tc.spec, tc.status
		if tc.released {
			hr.Status.History = helmv2.Snapshots{{Name: "web", Namespace: "apps", Version: 1}}
		}
		if err := v.Contents(t.Context(), hr); !apierrors.IsForbidden(err) {
			t.Errorf("got %v", err)
		}
		if asked := s.reviews(); asked[len(asked)-1] != "get secrets "+tc.want {
			t.Errorf("%+v: reviews %q", tc, asked)
		}
	}
}
