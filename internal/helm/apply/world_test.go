// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm/revision"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
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
func (noRecord) HookRun() string     { return "1" }
func (noRecord) SetApplied()         {}
func (noRecord) StoreApplied() error { return nil }
func (noRecord) HookProgress() (revision.Progress, time.Time) {
	return revision.NotStarted, time.Time{}
}
func (noRecord) HookEnded(bool) error    { return nil }
func (noRecord) WaitsWhenOutdated() bool { return false }

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
