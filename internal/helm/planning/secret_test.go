// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/client-go/kubernetes"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/test/apitest"
)

const path = "/api/v1/namespaces/prod/secrets/pintle.plan.v1.app"

func newStore(t *testing.T) (Store, *apitest.Server) {
	t.Helper()
	server := apitest.New(t)
	clients, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	return Store{Secrets: clients.CoreV1().Secrets("prod"), Release: "app"}, server
}

func content(manifest string) *Content {
	rendered := &remote.Rendered{
		Manifest: manifest, Notes: "notes", Hooks: []*helmrelease.Hook{{Name: "h", Kind: "Job", Manifest: "kind: Job"}},
		Metadata: &helmchart.Metadata{Name: "note"}, Chart: []byte(`{"metadata":{"name":"note"}}`),
	}
	files := []helmchart.CRD{{Name: "crds/a", Filename: "crds/a", File: &helmchart.File{Name: "crds/a", Data: []byte("kind: X")}}}
	values := map[string]any{"whole": int64(1<<53 + 1), "part": 1.5, "list": []any{"a"}}
	return &Content{Action: v1alpha1.PlanUpgrade, Inputs: "i", Base: 3, Changes: "c", Text: TextOf(rendered, values, files)}
}

// TestStore: the content that is read is what was written last, with the numbers of its values.
func TestStore(t *testing.T) {
	t.Parallel()
	s, server := newStore(t)
	for _, manifest := range []string{"kind: A\n", "kind: B\n", "kind: B\n"} {
		c := content(manifest)
		if err := s.Write(t.Context(), "uid", c); err != nil {
			t.Fatal(err)
		}
		got, err := s.Read(t.Context(), c.Digest())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Errorf("content (-want +got):\n%s", diff)
		}
		if got.Digest() != c.Digest() || len(got.Text.Files()) != 1 || got.Text.Rendered().Manifest != manifest {
			t.Errorf("content %+v", got)
		}
	}
	if want := []string{"POST /api/v1/namespaces/prod/secrets", "PUT " + path}; !cmp.Equal(server.Requests, want) {
		t.Errorf("requests %q, want %q", server.Requests, want)
	}
	secret := server.Object(path)
	if secret.GetLabels()[v1alpha1.LabelPlan] != "uid" || secret.Object["type"] != "pintle.dev/plan.v1" {
		t.Errorf("Secret %v", secret.Object)
	}
	uninstall := &Content{Action: v1alpha1.PlanUninstall, Base: 1}
	if err := s.Write(t.Context(), "uid", uninstall); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(t.Context(), uninstall.Digest()); err != nil || got.Text != nil {
		t.Errorf("content %+v, error %v", got, err)
	}
	for range 2 {
		if err := s.Delete(t.Context()); err != nil || server.Object(path) != nil {
			t.Errorf("error %v", err)
		}
	}
}

// TestConcurrentWrites: a write that another client overtakes is repeated, and other errors are not.
func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{http.StatusConflict: true, http.StatusNotFound: true, http.StatusForbidden: false} {
		s, server := newStore(t)
		if err := s.Write(t.Context(), "uid", content("kind: A\n")); err != nil {
			t.Fatal(err)
		}
		refusals := 2
		server.Refuse = func(method, _ string) int {
			if method != http.MethodPut || refusals == 0 {
				return 0
			}
			refusals--
			return code
		}
		if err := s.Write(t.Context(), "uid", content("kind: B\n")); (err == nil) != want {
			t.Errorf("%d: error %v", code, err)
		}
	}
}

// TestUnreadablePlans: a Secret without the plan in question makes the plan void, and a server that does
// not answer does not.
func TestUnreadablePlans(t *testing.T) {
	t.Parallel()
	digest := content("kind: A\n").Digest()
	for name, tc := range map[string]struct {
		edit func(server *apitest.Server, secret map[string]any)
		want error
	}{
		"Missing":       {func(server *apitest.Server, _ map[string]any) { server.Remove(path) }, release.ErrPlanVoid},
		"OtherType":     {func(_ *apitest.Server, secret map[string]any) { secret["type"] = "Opaque" }, release.ErrPlanVoid},
		"NoContent":     {func(_ *apitest.Server, secret map[string]any) { delete(data(secret), "content") }, release.ErrPlanVoid},
		"NotCompressed": {func(_ *apitest.Server, secret map[string]any) { data(secret)["content"] = "YQ==" }, release.ErrPlanVoid},
		"OtherContent": {func(_ *apitest.Server, secret map[string]any) {
			raw, err := content("kind: B\n").encode()
			if err != nil {
				panic(err)
			}
			data(secret)["content"] = base64.StdEncoding.EncodeToString(raw)
		}, release.ErrPlanVoid},
		"NoAnswer": {func(server *apitest.Server, _ map[string]any) {
			server.Refuse = func(string, string) int { return http.StatusServiceUnavailable }
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, server := newStore(t)
			if err := s.Write(t.Context(), "uid", content("kind: A\n")); err != nil {
				t.Fatal(err)
			}
			server.Mu.Lock()
			tc.edit(server, server.Objects[path])
			server.Mu.Unlock()
			_, err := s.Read(t.Context(), digest)
			if err == nil || errors.Is(err, release.ErrPlanVoid) != (tc.want != nil) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func data(secret map[string]any) map[string]any { return secret["data"].(map[string]any) }

// TestTooLargePlan: a plan that does not fit into a Secret is refused before it is sent.
func TestTooLargePlan(t *testing.T) {
	t.Parallel()
	s, server := newStore(t)
	noise := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise)
	err := s.Write(t.Context(), "uid", content("data: "+base64.StdEncoding.EncodeToString(noise)))
	if err == nil || !strings.Contains(err.Error(), "a Secret may have 1048576") || len(server.Requests) > 0 {
		t.Errorf("error %v, requests %q", err, server.Requests)
	}
}

// TestSecretName: names are valid for all releases, and differ.
func TestSecretName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 250)
	if got := SecretName("app"); got != "pintle.plan.v1.app" {
		t.Error(got)
	}
	if a, b := SecretName(long), SecretName(long+"b"); a == b || len(a) > 253 || len(b) > 253 {
		t.Errorf("names %s and %s", a, b)
	}
}

// TestTextDigest: the digest of a text depends on all that is applied, and not on the notes.
func TestTextDigest(t *testing.T) {
	t.Parallel()
	base := content("kind: A\n").Text.Digest()
	for name, edit := range map[string]func(text *Text){
		"Manifest": func(text *Text) { text.Manifest += "\n" },
		"Hook":     func(text *Text) { text.Hooks[0].Manifest += "\n" },
		"NoHook":   func(text *Text) { text.Hooks = nil },
		"CRD":      func(text *Text) { text.CRDs[0].Data = []byte("kind: Y") },
		"NoCRD":    func(text *Text) { text.CRDs = nil },
	} {
		c := content("kind: A\n")
		if edit(c.Text); c.Text.Digest() == base {
			t.Errorf("%s: the digest does not change", name)
		}
	}
	c := content("kind: A\n")
	if c.Text.Notes = "others"; c.Text.Digest() != base {
		t.Error("the digest depends on the notes")
	}
	if (*Text)(nil).Digest() == base {
		t.Error("no text has the digest of one")
	}
}
