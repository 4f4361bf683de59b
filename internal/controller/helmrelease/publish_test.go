// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/status"
)

// annotated keeps the annotations of the last event.
type annotated struct {
	record.EventRecorder
	annotations map[string]string
}

func (a *annotated) AnnotatedEventf(_ runtime.Object, annotations map[string]string, _, _, _ string, _ ...any) {
	a.annotations = annotations
}

// TestEventsCarryAnnotations: annotations of a HelmRelease are added to its events, and do not
// replace their own.
func TestEventsCarryAnnotations(t *testing.T) {
	plain := &annotated{}
	p := &publisher{&environment{events: events.NewRecorder(plain, controller.Scheme(), nil)}}
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		"event.toolkit.fluxcd.io/team": "web", "event.toolkit.fluxcd.io/revision": "1", "other": "x",
	}}}
	metadata := map[string]string{"event.toolkit.fluxcd.io/revision": "2", helmv2.EventMetadataRevision: "3"}
	p.emit(hr, []status.Event{{Type: corev1.EventTypeNormal, Action: helmv2.EventActionUnlock, Metadata: metadata}})
	want := map[string]string{
		"event.toolkit.fluxcd.io/team": "web", "event.toolkit.fluxcd.io/revision": "2", helmv2.EventMetadataRevision: "3",
		// It becomes the field when the event is written.
		"pintle.dev/action": helmv2.EventActionUnlock,
	}
	if diff := cmp.Diff(want, plain.annotations); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, event := range map[string]status.Event{
		"about a HelmChart":                 status.SourceDeleted(helmv2.KindHelmChart, key),
		"about a release that stays behind": status.LeftBehind(""),
	} {
		plain.annotations = nil
		p.emit(hr, []status.Event{event})
		if plain.annotations["event.toolkit.fluxcd.io/team"] != "web" {
			t.Errorf("an event %s has annotations %v", name, plain.annotations)
		}
	}
}
