// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/test/apitest"
)

// namespace is where all objects of a world are.
const namespace = "apps"

// longest is how long a world waits for something, in the time of the bubble.
const longest = 48 * time.Hour

// mostWrites is after how many writes of the controller a world gives up.
const mostWrites = 10_000

// world is an API server and a server of artifacts in memory, inside a bubble. Its client is
// another one than the controller's.
type world struct {
	*testing.T

	api    *apitest.Server
	client client.Client
	scheme *runtime.Scheme
	// began is when the world was made.
	began time.Time

	mu sync.Mutex
	// artifacts are the downloads by URL, and downloads the times at which one was begun.
	artifacts map[string][]byte
	downloads []time.Time
	// answer, if set, answers requests of the controller, for the API server and for artifacts. A
	// nil response lets a request pass.
	answer func(req *http.Request) *http.Response
	// sent are the requests of the controller for the API server.
	sent []request
	// wrote receives a value after each write and download of the controller.
	wrote chan struct{}
	// shown are the releases whose status is shown if the test fails.
	shown map[string]bool
}

// request is a request of the controller.
type request struct {
	time.Time

	// what is the method, or WATCH, and the path.
	what   string
	dryRun bool
}

// inBubble plays a test in a world of its own, in fake time. All controllers of the world end with
// it.
func inBubble(t *testing.T, play func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, began: time.Now(), scheme: controller.Scheme(), artifacts: map[string][]byte{}, wrote: make(chan struct{}, 1), shown: map[string]bool{}, api: apitest.NewCluster(t, offered())}
		var err error
		w.client, err = client.New(w.config("editor", w.api), client.Options{Scheme: w.scheme})
		w.must(err)
		for _, name := range []string{"default", namespace} {
			w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		// Watches of a wait are kept for some time. This is the last cleanup: no controller runs.
		t.Cleanup(func() { time.Sleep(time.Hour) })
		play(w)
	})
}

// offered are the kinds besides the default ones.
func offered() map[string][]string {
	with := func(name, kind string) []string {
		return []string{apitest.Entry(name, kind), apitest.Entry(name+"/status", kind)}
	}
	return map[string][]string{
		"v1":                        {apitest.Entry("events", "Event")},
		"apiregistration.k8s.io/v1": {apitest.ClusterEntry("apiservices", "APIService")},
		"coordination.k8s.io/v1":    {apitest.Entry("leases", "Lease")},
		"helm.toolkit.fluxcd.io/v2": with("helmreleases", "HelmRelease"),
		"source.toolkit.fluxcd.io/v1": slices.Concat(
			with("ocirepositories", "OCIRepository"), with("helmrepositories", "HelmRepository"), with("gitrepositories", "GitRepository"),
			with("buckets", "Bucket"), with("helmcharts", "HelmChart"), with("externalartifacts", "ExternalArtifact"),
		),
		"ops.vworkspace.io/v1alpha1": with("operations", "Operation"),
		"pintle.dev/v1alpha1": append(with("releaseplans", "ReleasePlan"),
			apitest.Entry("releasepolicies", "ReleasePolicy"), apitest.ClusterEntry("clusterreleasepolicies", "ClusterReleasePolicy")),
	}
}

// config returns the configuration of a client of a name.
func (w *world) config(name string, transport http.RoundTripper) *rest.Config {
	config := w.api.Config()
	config.Transport, config.UserAgent = transport, name
	return config
}

// RoundTrip implements http.RoundTripper for the controller.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	isArtifact := req.URL.Host == "artifacts"
	if isArtifact || req.Method != http.MethodGet {
		defer func() {
			select {
			case w.wrote <- struct{}{}:
			default:
			}
		}()
	}
	w.mu.Lock()
	answer := w.answer
	if isArtifact {
		w.downloads = append(w.downloads, time.Now())
	} else {
		what := req.Method
		if req.URL.Query().Get("watch") != "" {
			what = "WATCH"
		}
		w.sent = append(w.sent, request{time.Now(), what + " " + req.URL.Path, req.URL.Query().Get("dryRun") != ""})
	}
	archive, found := w.artifacts[req.URL.String()]
	w.mu.Unlock()
	if answer != nil {
		if resp := answer(req); resp != nil {
			return resp, nil
		}
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if !isArtifact {
		return w.api.RoundTrip(req)
	}
	if !found {
		return respond(req, http.StatusNotFound, "no such artifact"), nil
	}
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(archive)), ContentLength: int64(len(archive)), Header: http.Header{}, Request: req,
	}, nil
}

// answers makes answer answer the requests of the controller; nil ends that.
func (w *world) answers(answer func(req *http.Request) *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

// respond returns a response with a Status, as of an API server.
func respond(req *http.Request, code int, message string) *http.Response {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Message: message,
	})
	if err != nil {
		panic(err)
	}
	return &http.Response{
		StatusCode: code, Body: io.NopCloser(bytes.NewReader(body)), Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
	}
}

// silence does not answer a request, which ends when it is cancelled.
func silence(req *http.Request) *http.Response {
	<-req.Context().Done()
	return nil
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// create creates an object, and sets its status.
func (w *world) create(object client.Object) {
	w.Helper()
	w.must(w.client.Create(w.Context(), object))
}

// chart returns the archive of a chart note with files below its folder.
func (w *world) chart(version string, files map[string]string) []byte {
	w.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	add := func(name, content string) {
		w.must(tw.WriteHeader(&tar.Header{Name: "note/" + name, Mode: 0o644, Size: int64(len(content))}))
		_, err := io.WriteString(tw, content)
		w.must(err)
	}
	add("Chart.yaml", "apiVersion: v2\nname: note\nversion: "+version+"\n")
	for name, content := range files {
		add(name, content)
	}
	w.must(errors.Join(tw.Close(), gz.Close()))
	return buf.Bytes()
}

// note is the chart of most tests. It renders one ConfigMap with .Values.message.
func (w *world) note(version string) []byte {
	return w.chart(version, map[string]string{
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  message: {{ .Values.message | quote }}\n",
		"values.yaml":       "message: default\n",
	})
}

// publish makes an archive the artifact of an OCIRepository.
func (w *world) publish(name, tag string, archive []byte) {
	w.Helper()
	url := "http://artifacts/" + name + "-" + tag + ".tgz"
	w.mu.Lock()
	w.artifacts[url] = archive
	w.mu.Unlock()
	repo := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if w.client.Get(w.Context(), client.ObjectKeyFromObject(repo), repo) != nil {
		repo.Spec.URL, repo.Spec.Interval = "oci://localhost/charts/"+name, metav1.Duration{Duration: time.Hour}
		w.create(repo)
	}
	repo.Status.ObservedGeneration = repo.Generation
	repo.Status.Artifact = &fluxmeta.Artifact{
		URL: url, Path: strings.TrimPrefix(url, "http://artifacts/"), Digest: digest.FromBytes(archive).String(),
		Revision: tag + "@" + digest.FromString(tag+string(archive)).String(), LastUpdateTime: metav1.Now(),
	}
	apimeta.SetStatusCondition(&repo.Status.Conditions, metav1.Condition{Type: "Ready", Status: "True", Reason: "Succeeded", Message: "stored"})
	w.must(w.client.Status().Update(w.Context(), repo))
}

// release creates a HelmRelease that uses the OCIRepository of the same name.
func (w *world) release(name, message string, edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	w.Helper()
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: helmv2.HelmReleaseSpec{
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: name},
			Interval: metav1.Duration{Duration: time.Hour}, Timeout: &metav1.Duration{Duration: 5 * time.Minute},
			Values: values(message),
		},
	}
	for _, e := range edit {
		e(hr)
	}
	w.create(hr)
	return hr
}

func values(message string) *apiextensionsv1.JSON {
	return &apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `{"message":%q}`, message)}
}

// edit changes the spec or metadata of an object.
func edit[T client.Object](w *world, object T, change func(T)) {
	w.Helper()
	w.read(object)
	before := object.DeepCopyObject().(T) //nolint:forcetypeassert // a copy
	change(object)
	w.must(w.client.Patch(w.Context(), object, client.MergeFrom(before)))
}

// says sets the message of a release.
func (w *world) says(hr *helmv2.HelmRelease, message string) {
	w.Helper()
	edit(w, hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(message) })
}

// annotate sets an annotation; an empty value removes it.
func (w *world) annotate(hr *helmv2.HelmRelease, key, value string) {
	w.Helper()
	edit(w, hr, func(hr *helmv2.HelmRelease) {
		if delete(hr.Annotations, key); value != "" {
			metav1.SetMetaDataAnnotation(&hr.ObjectMeta, key, value)
		}
	})
}

// read reads an object again.
func (w *world) read(object client.Object) {
	w.Helper()
	w.must(w.client.Get(w.Context(), client.ObjectKeyFromObject(object), object))
}

// message returns the message in the ConfigMap of a release; empty without one.
func (w *world) message(name string) string {
	cm := &corev1.ConfigMap{}
	if w.client.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, cm) != nil {
		return ""
	}
	return cm.Data["message"]
}

// now returns the time since the world began.
func (w *world) now() time.Duration { return time.Since(w.began) }

// until lets time pass until something is true, which writes of the controller bring about.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	end := time.After(longest)
	for writes := 0; ; writes++ {
		synctest.Wait()
		if ok() {
			return
		}
		if writes > mostWrites {
			w.Fatalf("waited for %d writes in vain for %s", writes, what)
		}
		select {
		case <-w.wrote:
		case <-end:
			w.Fatalf("waited %s in vain for %s", longest, what)
		}
	}
}

// untilRelease lets time pass until a HelmRelease has a state.
func (w *world) untilRelease(hr *helmv2.HelmRelease, what string, ok func(*helmv2.HelmRelease) bool) {
	w.Helper()
	if !w.shown[hr.Name] {
		w.shown[hr.Name] = true
		w.Cleanup(func() {
			if w.Failed() {
				w.Logf("%s at %s has revision %d and %+v", hr.Name, w.now(), newest(hr), hr.Status.Conditions)
			}
		})
	}
	w.until(hr.Name+" to be "+what, func() bool {
		w.read(hr)
		return ok(hr)
	})
}

// untilReady lets time pass until the present generation is Ready.
func (w *world) untilReady(all ...*helmv2.HelmRelease) {
	w.Helper()
	for _, hr := range all {
		w.untilRelease(hr, "Ready", func(hr *helmv2.HelmRelease) bool {
			return hr.Status.ObservedGeneration == hr.Generation && condition(hr, helmv2.ConditionReady).Status == metav1.ConditionTrue
		})
	}
}

// untilCondition lets time pass until a condition has a reason, and a message with some texts.
func (w *world) untilCondition(hr *helmv2.HelmRelease, kind string, status metav1.ConditionStatus, reason string, texts ...string) {
	w.Helper()
	w.untilRelease(hr, fmt.Sprintf("%s=%s %s %q", kind, status, reason, texts), func(hr *helmv2.HelmRelease) bool {
		c := condition(hr, kind)
		return c.Status == status && c.Reason == reason &&
			!slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(c.Message, text) })
	})
}

func condition(hr *helmv2.HelmRelease, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(hr.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// newest returns the number of the newest revision in status.history, 0 without one.
func newest(hr *helmv2.HelmRelease) int {
	if len(hr.Status.History) == 0 {
		return 0
	}
	return hr.Status.History[0].Version
}

// settle lets everything happen that needs no time.
func (w *world) settle() { synctest.Wait() }

// requests returns those requests of the controller that match, from act until everything has
// happened that needs no time.
func (w *world) requests(act func(), match func(r request) bool) (all []string) {
	w.Helper()
	w.settle()
	w.mu.Lock()
	before := len(w.sent)
	w.mu.Unlock()
	act()
	w.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.sent[before:] {
		if match(r) {
			all = append(all, fmt.Sprintf("%s at %s", r.what, r.Sub(w.began)))
		}
	}
	return all
}

// isWrite reports whether a request writes. An Event is no write of the controller's.
func isWrite(r request) bool {
	method, path, _ := strings.Cut(r.what, " ")
	return method != http.MethodGet && method != "WATCH" && !r.dryRun && !strings.Contains(path, "/events")
}

// isWatch reports whether a request watches. A watch that the API server ends is begun again.
func isWatch(r request) bool { return strings.HasPrefix(r.what, "WATCH ") }

// isPlain reports whether a request is neither a watch nor about an Event.
func isPlain(r request) bool { return !isWatch(r) && !strings.Contains(r.what, "/events") }

// remove deletes an object.
func (w *world) remove(object client.Object) {
	w.Helper()
	w.must(w.client.Delete(w.Context(), object))
}

// untilGone lets time pass until an object no longer exists.
func (w *world) untilGone(object client.Object) {
	w.Helper()
	w.until(object.GetName()+" to be gone", func() bool {
		return apierrors.IsNotFound(w.client.Get(w.Context(), client.ObjectKeyFromObject(object), object))
	})
}

// quiet lets time pass, during which the controller must write nothing.
func (w *world) quiet(during time.Duration) {
	w.Helper()
	if writes := w.requests(func() { time.Sleep(during) }, isWrite); len(writes) > 0 {
		w.Errorf("written within %s:\n%s", during, strings.Join(writes, "\n"))
	}
}

// events returns the messages of the events of a reason, oldest first, once for each count.
func (w *world) events(reason string) []string {
	w.Helper()
	var list corev1.EventList
	w.must(w.client.List(w.Context(), &list, client.InNamespace(namespace)))
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return a.FirstTimestamp.Compare(b.FirstTimestamp.Time) })
	var all []string
	for _, e := range list.Items {
		for range cmp.Or(e.Count, 1) {
			if e.Reason == reason {
				all = append(all, e.Message)
			}
		}
	}
	return all
}
