// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
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

// eventServer has the events that it received and accepted: of Pintle, on the way to
// notification-controller, or of that as a webhook.
type eventServer struct {
	*httptest.Server

	mu  sync.Mutex
	got []eventv1.Event
}

// newEventServer starts a server whose requests next answers. Without next, all events are accepted.
func newEventServer(t *testing.T, next http.Handler) *eventServer {
	t.Helper()
	s := &eventServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var e eventv1.Event
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		if err != nil {
			t.Errorf("an event is %q: %v", body, err)
		}
		if next != nil {
			answer := httptest.NewRecorder()
			req.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(answer, req)
			rw.WriteHeader(answer.Code)
			if answer.Code >= http.StatusMultipleChoices {
				return
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, e)
	}))
	t.Cleanup(s.Close)
	return s
}

// events returns the names and reasons of all events, in alphabetical order.
func (s *eventServer) events() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []string{}
	for _, e := range s.got {
		all = append(all, e.InvolvedObject.Name+" "+e.Reason)
	}
	slices.Sort(all)
	return all
}

// alerts are a Slack provider, a webhook, and alerts about all HelmReleases of a namespace.
const alerts = `
- apiVersion: notification.toolkit.fluxcd.io/v1beta3
  kind: Provider
  metadata: {name: slack}
  spec: {type: slack, channel: releases, address: SLACK}
- apiVersion: notification.toolkit.fluxcd.io/v1beta3
  kind: Provider
  metadata: {name: webhook}
  spec: {type: generic, address: WEBHOOK}
- apiVersion: notification.toolkit.fluxcd.io/v1beta3
  kind: Alert
  metadata: {name: all}
  spec:
    providerRef: {name: slack}
    eventSeverity: info
    eventSources: [{kind: HelmRelease, name: "*"}]
    eventMetadata: {summary: production of Europe}
- apiVersion: notification.toolkit.fluxcd.io/v1beta3
  kind: Alert
  metadata: {name: webhook}
  spec:
    providerRef: {name: webhook}
    eventSeverity: info
    eventSources: [{kind: HelmRelease, name: "*"}]
`

// TestNotification: the real notification-controller passes each event on once, with the metadata that
// is in the documents: versions, the annotations of the HelmRelease and of the Alert, and of a failure
// the cause and the object. It drops tokens and logs. Its version has no actions of events, so they are
// checked in what Pintle posts.
func TestNotification(t *testing.T) {
	w, receiver, webhook := newWorld(t), newSlack(t), newEventServer(t, nil)
	posted := w.postTo()
	var objects []*unstructured.Unstructured
	w.Must(yaml.Unmarshal([]byte(strings.NewReplacer("SLACK", receiver.URL, "WEBHOOK", webhook.URL).Replace(alerts)), &objects))
	w.Must(env.Apply(w.Context(), w.Namespace, objects...))

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

	w.Edit(hello, func(hr *helmv2.HelmRelease) { hr.Spec.Values = w.Raw(values{"message": "two"}) })
	w.UntilRevision(hello, 2)
	w.Must(env.Client.Delete(w.Context(), hello))
	w.shows(receiver, hello, "Helm uninstall succeeded", "good", map[string]string{"team": "shop"})
	want := []string{
		"crash InstallFailed", "hello InstallSucceeded", "hello UninstallSucceeded", "hello UpgradeSucceeded", "schema InstallFailed",
	}
	w.Must(env.Until(w.Context(), "each event in the webhook", func() (string, bool) {
		got := webhook.events()
		return strings.Join(got, "\n"), len(got) >= len(want)
	}))
	w.equal("events that the webhook has", webhook.events(), want)
	w.equal("events that were posted", posted.events(), want)
	actions := map[string]string{
		helmv2.ReasonInstallSucceeded: "HelmInstall", helmv2.ReasonInstallFailed: "HelmInstall",
		helmv2.ReasonUpgradeSucceeded: "HelmUpgrade", helmv2.ReasonUninstallSucceeded: "HelmUninstall",
	}
	for _, e := range posted.got {
		w.equal("action of "+e.Reason, e.Action, actions[e.Reason])
	}
}

// postTo starts notification-controller, and Pintle with its address, until the end of the test. It
// returns the events that notification-controller accepts.
func (w world) postTo() *eventServer {
	w.Helper()
	ours := env.Controller
	theirs := w.startNeighbour("notification-controller", "--events-addr="+eventsHost+":0", "--receiverAddr=127.64.0.5:0")
	address := ""
	w.Must(env.Until(w.Context(), "notification-controller to listen", func() (string, bool) {
		found, err := theirs.Address(eventsHost)
		address = found
		return theirs.LogTail(5), err == nil
	}))
	posted := newEventServer(w.T, httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address}))
	w.Cleanup(func() { handOver(context.WithoutCancel(w.Context()), w.T, ours) })
	handOver(w.Context(), w.T, env.Variant("--events-addr="+posted.URL+"/"))
	return posted
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
