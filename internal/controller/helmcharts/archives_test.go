// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	"github.com/pintle-dev/pintle/internal/helmchart"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
)

// archiveWorld is a server of one archive, and what is known about it.
type archiveWorld struct {
	t *testing.T
	*archives

	chart *cattlev1.HelmChart
	// digest and err are what the server answers, and reads counts its answers. held delays them until
	// it is closed.
	digest string
	err    error
	reads  int
	held   chan struct{}
	// last is what the last read knew.
	last archive.Version
}

func newArchiveWorld(t *testing.T) *archiveWorld {
	t.Helper()
	w := &archiveWorld{t: t, digest: "sha256:1", chart: &cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}}
	w.archives = &archives{now: time.Now, known: map[types.NamespacedName]*knownArchive{}, read: w.answer}
	return w
}

func (w *archiveWorld) answer(_ context.Context, _ *cattlev1.HelmChart, known archive.Version) (archive.Version, error) {
	if w.held != nil {
		<-w.held
	}
	w.reads, w.last = w.reads+1, known
	return archive.Version{Digest: w.digest}, w.err
}

// expect gets the archive, and checks its digest, the number of reads until now, and the error of a
// version that is kept.
func (w *archiveWorld) expect(what string, have recorded, request string, lost bool, digest string, reads int, kept error) {
	w.t.Helper()
	got, err := w.get(w.t.Context(), w.chart, "url", have, request, lost)
	if err != nil || got.digest != digest || w.reads != reads || !errors.Is(got.kept, kept) {
		w.t.Errorf("%s: got %+v after %d reads, %v", what, got, w.reads, err)
	}
}

// TestArchives: an archive is downloaded once, and again after the interval, after a request, and if the
// release cannot get it.
func TestArchives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newArchiveWorld(t)
		none := recorded{}
		w.expect("first", none, "", false, "sha256:1", 1, nil)
		w.expect("again", none, "", false, "sha256:1", 1, nil)
		w.expect("another status", recorded{"sha256:9", ""}, "", false, "sha256:1", 1, nil)
		w.digest = "sha256:2"
		time.Sleep(helmchart.Interval - time.Second)
		w.expect("before the interval", none, "", false, "sha256:1", 1, nil)
		time.Sleep(time.Second)
		w.expect("interval", none, "", false, "sha256:2", 2, nil)
		w.expect("request", none, "a", false, "sha256:2", 3, nil)
		if w.last.Digest != "sha256:2" {
			t.Errorf("the read knew %+v", w.last)
		}
		w.expect("same request", none, "a", false, "sha256:2", 3, nil)
		w.expect("lost, at once", none, "a", true, "sha256:2", 3, nil)
		if next := w.next(client.ObjectKeyFromObject(w.chart), true); next != downloadRetry {
			t.Errorf("next in %s", next)
		}
		time.Sleep(downloadRetry)
		w.expect("lost", none, "a", true, "sha256:2", 4, nil)

		// A server that fails later.
		w.err = errors.New("down")
		w.expect("down", none, "b", false, "sha256:2", 5, w.err)
		w.expect("said once", none, "b", false, "sha256:2", 5, nil)
		for _, pause := range []time.Duration{1, 2, 4, 8, 16, 16} {
			if next := w.next(client.ObjectKeyFromObject(w.chart), false); next != pause*downloadRetry {
				t.Errorf("next in %s, not %s", next, pause*downloadRetry)
			}
			time.Sleep(pause * downloadRetry)
			w.expect("still down", none, "b", false, "sha256:2", w.reads+1, nil)
		}
		w.err, w.digest = nil, "sha256:3"
		time.Sleep(16 * downloadRetry)
		w.expect("up again", none, "b", false, "sha256:3", 12, nil)

		w.forget(client.ObjectKeyFromObject(w.chart))
		if next := w.next(client.ObjectKeyFromObject(w.chart), false); next != 0 {
			t.Errorf("next in %s", next)
		}
	})
}

// TestArchivesAfterRestart: what is recorded is used, and read again within the interval, or at once for a
// request that was not handled.
func TestArchivesAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newArchiveWorld(t)
		w.expect("recorded", recorded{"sha256:0", "a"}, "a", false, "sha256:0", 0, nil)
		time.Sleep(helmchart.Interval)
		w.expect("interval", recorded{"sha256:0", "a"}, "a", false, "sha256:1", 1, nil)
		w = newArchiveWorld(t)
		w.expect("request", recorded{"sha256:0", "a"}, "b", false, "sha256:1", 1, nil)
	})
}

// TestArchivesOfSilentServer: a server that does not answer does not delay a reconciliation.
func TestArchivesOfSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newArchiveWorld(t)
		w.held = make(chan struct{})
		key := client.ObjectKeyFromObject(w.chart)
		for range 2 {
			if _, err := w.get(t.Context(), w.chart, "url", recorded{}, "", false); !errors.Is(err, errDownloading) {
				t.Errorf("got %v", err)
			}
		}
		if next := w.next(key, false); next != downloadPoll {
			t.Errorf("next in %s", next)
		}
		close(w.held)
		synctest.Wait()
		w.expect("answered", recorded{}, "", false, "sha256:1", 1, nil)
		// While an older version is known, it is used.
		w.held = make(chan struct{})
		w.expect("silent", recorded{}, "a", false, "sha256:1", 1, nil)
		close(w.held)
		synctest.Wait()

		w = newArchiveWorld(t)
		w.err = errors.New("down")
		if _, err := w.get(t.Context(), w.chart, "url", recorded{}, "", false); !errors.Is(err, w.err) {
			t.Errorf("got %v", err)
		}
		if next := w.next(key, false); next != downloadRetry {
			t.Errorf("next in %s", next)
		}
		w.err = nil
		time.Sleep(downloadRetry)
		w.expect("up", recorded{}, "", false, "sha256:1", 2, nil)
	})
}
