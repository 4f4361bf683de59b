// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm/apitest"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	oneYAML = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
	onePath = "/api/v1/namespaces/prod/configmaps/one"
)

// world is an API server in memory.
type world struct {
	*apitest.Server

	t    testing.TB
	conn *cluster.Connection
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, Server: apitest.New(t)}
	var err error
	if w.conn, err = cluster.Connect(w.Config()); err != nil {
		t.Fatal(err)
	}
	return w
}

// client returns the Client of an action on release prod/app.
func (w *world) client(ctx context.Context, edit func(*Options)) *Client {
	w.t.Helper()
	return newClient(ctx, w.t, w.conn, edit)
}

func newClient(ctx context.Context, t testing.TB, conn genericclioptions.RESTClientGetter, edit func(*Options)) *Client {
	t.Helper()
	o := Options{
		Getter: conn, Log: func(string, ...any) {}, UID: "uid-1", Origin: Origin{Name: "app", Namespace: "prod"},
		Target:       release.Target{Name: "app", Namespace: "prod", StorageNamespace: "prod"},
		Waits:        wait.Options{Getter: conn, Watches: &wait.Watches{}, Now: time.Now},
		Reservations: &Reservations{}, Record: noRecord{}, Findings: noFindings{},
	}
	if edit != nil {
		edit(&o)
	}
	c, err := New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

type noRecord struct{}

func (noRecord) Attempt() string     { return "attempt-1" }
func (noRecord) SetApplied()         {}
func (noRecord) StoreApplied() error { return nil }

type noFindings struct{}

func (noFindings) Refused(*resource.Info, error) {}
func (noFindings) HookFailed()                   {}

func (noFindings) ReadHookLogs(context.Context, string, metav1.ListOptions) error { return nil }

func manifestOf(names ...string) io.Reader {
	var b strings.Builder
	for _, n := range names {
		b.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + n + ", namespace: prod}\n")
	}
	return strings.NewReader(b.String())
}

// revisionOf is a stored revision of release shop in namespace prod.
func revisionOf(version int, status helmrelease.Status, manifest string) *helmrelease.Release {
	return &helmrelease.Release{
		Name: "shop", Namespace: "prod", Version: version, Manifest: manifest, Info: &helmrelease.Info{Status: status},
		Labels: map[string]string{},
	}
}

// keep stores revisions in a namespace.
func (w *world) keep(namespace string, all ...*helmrelease.Release) {
	w.t.Helper()
	for _, rls := range all {
		key := storage.Key("shop", rls.Version)
		secrets := fake.NewClientset().CoreV1().Secrets(namespace)
		if err := driver.NewSecrets(secrets).Create(key, rls); err != nil {
			w.t.Fatal(err)
		}
		secret, err := secrets.Get(w.t.Context(), key, metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		secret.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
		if err != nil {
			w.t.Fatal(err)
		}
		w.Put("/api/v1/namespaces/"+namespace+"/secrets/"+key, object)
	}
}
