// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// eventsHost is the host at which notification-controller receives events.
const eventsHost = "127.64.0.4"

// attachment is a part of what Slack receives.
type attachment struct {
	Color  string
	Author string `json:"author_name"`
	Text   string
	Fields []struct{ Title, Value string }
}

// slack is a server in place of Slack.
type slack struct {
	*httptest.Server

	mu  sync.Mutex
	got []attachment
}

func newSlack(t *testing.T) *slack {
	t.Helper()
	s := &slack{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		var payload struct{ Attachments []attachment }
		if err := json.NewDecoder(req.Body).Decode(&payload); err != nil {
			t.Errorf("Slack received: %v", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, payload.Attachments...)
	}))
	t.Cleanup(s.Close)
	return s
}

// find returns the first attachment about a release whose text contains part, and all texts.
func (s *slack) find(name, part string) (found *attachment, texts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.got {
		if found == nil && strings.HasPrefix(a.Author, "helmrelease/"+name+".") && strings.Contains(a.Text, part) {
			found = &s.got[i]
		}
		texts += a.Author + ": " + a.Text + "\n"
	}
	return found, texts
}

// alerts are a Slack provider and an alert about all HelmReleases of a namespace.
const alerts = `
- apiVersion: notification.toolkit.fluxcd.io/v1beta3
  kind: Provider
  metadata: {name: slack}
  spec: {type: slack, channel: releases, address: ADDRESS}
- apiVersion: notification.toolkit.fluxcd.io/v1beta3
  kind: Alert
  metadata: {name: all}
  spec:
    providerRef: {name: slack}
    eventSeverity: info
    eventSources: [{kind: HelmRelease, name: "*"}]
    eventMetadata: {summary: production of Europe}
`

// TestNotification: the real notification-controller passes events on to Slack, with the metadata that
// is in the documents: versions, the annotations of the HelmRelease and of the Alert, and of a failure
// the cause and the object. It drops tokens and logs.
func TestNotification(t *testing.T) {
	path := os.Getenv("PINTLE_NOTIFICATION")
	if path == "" {
		t.Fatal("PINTLE_NOTIFICATION is not set: `make test-notification` builds that executable")
	}
	w, receiver := newWorld(t), newSlack(t)
	w.Must(env.ApplyCRDs(w.Context(), filepath.Join(filepath.Dir(path), "crds")))
	var objects []*unstructured.Unstructured
	w.Must(yaml.Unmarshal([]byte(strings.ReplaceAll(alerts, "ADDRESS", receiver.URL)), &objects))
	w.Must(env.Apply(w.Context(), w.Namespace, objects...))
	w.postTo(path)

	w.push("0.1.0")
	w.source("hello", env.Registry.Address)
	w.Publish(w.fickle("0.1.0"))
	w.artifact(sourcev1.OCIRepositoryRef{Tag: "0.1.0"})
	hello := w.Draft("hello", fixture.ChartRef(helmv2.KindOCIRepository, "hello"), values{"message": "one"})
	hello.Annotations = map[string]string{helmv2.EventAnnotationPrefix + "team": "shop"}
	schema := w.Draft("schema", fixture.ChartRef(helmv2.KindOCIRepository, "hello"), values{"message": 7})
	crash := w.Draft("crash", fixture.ChartRef(helmv2.KindOCIRepository, "fickle"), unready())
	crash.Spec.Timeout = duration(5 * time.Second)
	w.Create(hello, schema, crash)

	w.shows(receiver, hello, "Helm install succeeded", "good", map[string]string{"team": "shop"})
	w.shows(receiver, schema, "/message", "danger", map[string]string{"cause": helmv2.FailureSchemaInvalid})
	w.shows(receiver, crash, "crash-fickle", "danger", map[string]string{
		"cause": helmv2.FailureNotReady, "object": "Deployment/" + w.Namespace + "/crash-fickle",
	})
}

// postTo starts notification-controller, and Pintle with its address, until the end of the test.
func (w world) postTo(path string) {
	w.Helper()
	theirs := harness.NewController(path, []string{
		"--events-addr=" + eventsHost + ":0", "--receiverAddr=127.64.0.5:0", "--health-addr=0", "--metrics-addr=0",
		"--log-encoding=console",
	}, append(os.Environ(), "KUBECONFIG="+env.Kubeconfig, "RUNTIME_NAMESPACE=default"), filepath.Join(w.TempDir(), "notification.log"))
	w.Must(theirs.Start())
	ours, address := env.Controller, ""
	w.Cleanup(func() {
		ctx := context.WithoutCancel(w.Context())
		handOver(ctx, w.T, ours)
		w.Must(theirs.Stop(ctx))
	})
	w.Must(env.Until(w.Context(), "notification-controller to listen", func() (string, bool) {
		found, err := theirs.Address(eventsHost)
		address = found
		return theirs.LogTail(5), err == nil
	}))
	handOver(w.Context(), w.T, env.Variant("--events-addr=http://"+address+"/"))
}

// shows waits until Slack has a message about a release, and compares its fields: those of the chart
// of the release, of the Alert, and more.
func (w world) shows(s *slack, hr *helmv2.HelmRelease, part, color string, more map[string]string) {
	w.Helper()
	var got *attachment
	w.Must(env.Until(w.Context(), hr.Name+" in Slack", func() (texts string, done bool) {
		got, texts = s.find(hr.Name, part)
		return texts, got != nil
	}))
	fields := map[string]string{}
	for _, f := range got.Fields {
		fields[f.Title] = f.Value
	}
	version, digest := fields["revision"], fields["oci-digest"]
	if !strings.HasPrefix(version, "0.1.0") || !strings.HasPrefix(digest, "sha256:") {
		w.Errorf("%s has revision %q and digest %q", hr.Name, version, digest)
	}
	want := map[string]string{"summary": "production of Europe", "revision": version, "oci-digest": digest, "app-version": "1.0"}
	maps.Copy(want, more)
	if diff := cmp.Diff(want, fields); diff != "" || got.Color != color {
		w.Errorf("%s in Slack is %s, with the fields (-want +got):\n%s", hr.Name, got.Color, diff)
	}
}
