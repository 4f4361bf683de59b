// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// server keeps the Events that it gets. The first request fails, as while an API server restarts.
type server struct {
	record.EventSink
	failed  bool
	created []*corev1.Event
	patches []string
}

func (s *server) Create(e *corev1.Event) (*corev1.Event, error) {
	if !s.failed {
		s.failed = true
		return nil, errors.New("connection refused")
	}
	s.created = append(s.created, e.DeepCopy())
	return e, nil
}

func (s *server) Patch(e *corev1.Event, data []byte) (*corev1.Event, error) {
	s.patches = append(s.patches, string(data))
	return e, nil
}

// TestBroadcaster: Events have an action, equal ones raise a count, and others do not.
func TestBroadcaster(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := helmv2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, b := &server{}, NewBroadcaster()
		defer b.Shutdown()
		b.StartRecordingToSink(s)
		recorder := NewRecorder(b.NewRecorder(scheme, corev1.EventSource{Component: "helm-controller"}), scheme, nil)
		for _, message := range []string{"one", "one", "two"} {
			recorder.Record(release(), Event{
				Type: corev1.EventTypeWarning, Reason: "DriftDetected", Action: helmv2.EventActionDriftDetection, Message: message,
				Metadata: map[string]string{helmv2.EventMetadataRevision: "1.2.3"},
			})
		}
		// The pause before a repeated request.
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.created) != 2 || len(s.patches) != 1 {
			t.Fatalf("%d Events were created, and patches are %q", len(s.created), s.patches)
		}
		for i, message := range []string{"one", "two"} {
			e := s.created[i]
			if e.Action != helmv2.EventActionDriftDetection || e.Message != message || e.ReportingController != "helm-controller" {
				t.Errorf("created is %+v", e)
			}
			want := map[string]string{"event.toolkit.fluxcd.io/team": "web", helmv2.EventMetadataRevision: "1.2.3"}
			if diff := cmp.Diff(want, e.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		}
		if want := `{"count":2,"lastTimestamp":"2000-01-01T00:00:00Z","message":"one"}`; s.patches[0] != want {
			t.Errorf("the patch is %s, want %s", s.patches[0], want)
		}
	})
}
