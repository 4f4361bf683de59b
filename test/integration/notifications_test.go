// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/notify"
)

// TestNotifications: what happens to a HelmRelease is posted, with what its author
// wants to be said, to a receiver that is slow.
func TestNotifications(t *testing.T) {
	w := newWorld(t)
	posted := make(chan notify.Event, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		var e notify.Event
		body, err := io.ReadAll(req.Body)
		suite.canaries.Read("notification", "to "+t.Name(), string(body))
		if err != nil || json.Unmarshal(body, &e) != nil {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		time.Sleep(100 * time.Millisecond)
		posted <- e
		rw.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(receiver.Close)
	m, err := metrics.New(prometheus.NewRegistry())
	w.must(err)
	host, err := os.Hostname()
	w.must(err)
	sender := notify.NewSender(t.Context(), notify.Options{
		URL: receiver.URL, Controller: helmv2.ControllerName, Instance: host, Flush: 5 * time.Second, Observer: m, Log: logr.Discard(), Now: time.Now,
	})
	t.Cleanup(sender.Close)
	ours := w.ownController(config{notifications: sender})
	hr := w.release("web", nil, ours, needs(helmv2.DependencyReference{Name: "missing"}), func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{"event.toolkit.fluxcd.io/team": "web"}
	})
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.ReasonDependencyNotReady, "missing")
	select {
	case e := <-posted:
		if e.Reason != helmv2.ReasonDependencyNotReady || e.Severity != notify.SeverityInfo || e.InvolvedObject.UID != hr.UID ||
			e.InvolvedObject.Kind != helmv2.HelmReleaseKind || e.InvolvedObject.APIVersion != helmv2.GroupVersion.String() ||
			e.Metadata["event.toolkit.fluxcd.io/team"] != "web" || e.ReportingController != "helm-controller" || e.ReportingInstance != host {
			t.Errorf("posted is %+v", e)
		}
	case <-time.After(30 * time.Second):
		t.Error("nothing is posted")
	}
}
