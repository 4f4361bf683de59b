// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// shared is a buffer that may be read while a command writes it.
type shared struct {
	mu  sync.Mutex
	all bytes.Buffer
	// written is closed by the next write.
	written chan struct{}
}

func newShared() *shared { return &shared{written: make(chan struct{})} }

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.written)
	s.written = make(chan struct{})
	return s.all.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// until waits until the output contains a text n times.
func (s *shared) until(t *testing.T, text string, n int) {
	t.Helper()
	for {
		s.mu.Lock()
		found, written := strings.Count(s.all.String(), text), s.written
		s.mu.Unlock()
		if found > n {
			t.Fatalf("%q is %d times in the output, not %d:\n%s", text, found, n, s.String())
		}
		if found == n {
			return
		}
		<-written
	}
}

// TestWatch: a row follows for each change that a row shows, and none for others. Ending the command
// is no error.
func TestWatch(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.run("get")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, code := newShared(), make(chan int)
	s := *w.session
	s.Out = out
	watching := make(chan struct{})
	s.client = interceptor.NewClient(w.client, interceptor.Funcs{
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			defer close(watching)
			return c.Watch(ctx, list, opts...)
		},
	})
	go func() {
		cmd := Command(&s)
		cmd.SetArgs([]string{"get", "web", "--watch"})
		code <- s.Report(cmd.ExecuteContext(ctx))
	}()
	out.until(t, "\nweb ", 1)
	change := func(name string, edit func(hr *helmv2.HelmRelease)) {
		hr := &helmv2.HelmRelease{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: name}, hr); err != nil {
			t.Fatal(err)
		}
		edit(hr)
		if err := w.client.Update(t.Context(), hr); err != nil {
			t.Fatal(err)
		}
	}
	fail := func(hr *helmv2.HelmRelease) {
		apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{Type: "Ready", Status: "False", Reason: helmv2.ReasonUpgradeFailed, Message: "broken"})
	}
	// The watch begins after the list was printed.
	<-watching
	change("web", func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{"a": "b"} })
	change("shop", fail)
	change("web", fail)
	out.until(t, "\nweb ", 2)
	out.until(t, "UpgradeFailed", 1)
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("after Ctrl-C, the exit code is %d: %s", got, w.err.String())
	}
	if text := out.String(); contains(text, "shop") || strings.Count(text, "NAME") != 1 {
		t.Errorf("the output is\n%s", text)
	}
}
