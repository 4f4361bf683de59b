// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/diff"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// origin is source config of a kind, and store publishes files as its next revision.
type origin struct {
	world

	source sourceObject
	store  func(files map[string]string)
}

// sourceObject is a source with an artifact.
type sourceObject interface {
	client.Object
	GetArtifact() *fluxmeta.Artifact
}

// TestValuesFromSources: values come from files of sources of each kind. A revision in which they differ is
// an upgrade, and another one is not. Policies apply to them.
func TestValuesFromSources(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	ours := env.Controller
	t.Cleanup(func() { takeOver(context.WithoutCancel(t.Context()), t, ours) })
	takeOver(t.Context(), t, env.Variant("--feature-gates=ExternalArtifact=true"))
	t.Run("all", func(t *testing.T) {
		for kind, test := range map[string]func(world){
			helmv2.KindOCIRepository:    func(w world) { w.ociConfig().upgrades() },
			helmv2.KindBucket:           func(w world) { w.bucketConfig().upgrades() },
			helmv2.KindExternalArtifact: func(w world) { w.externalConfig().upgrades() },
			helmv2.KindGitRepository: func(w world) {
				o := w.gitConfig()
				o.obeysPolicies(o.upgrades())
			},
		} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.push("1.0.0")
				w.source("hello", env.Registry.Address)
				test(w)
			})
		}
	})
}

// ociConfig is an OCIRepository of a tag that moves.
func (w world) ociConfig() origin {
	const tag = "prod"
	repository := w.Namespace + "/config"
	return origin{w, &sourcev1.OCIRepository{
		ObjectMeta: w.Meta("config"),
		Spec: sourcev1.OCIRepositorySpec{
			URL: "oci://" + env.Registry.Address + "/" + repository, Insecure: true,
			Interval: metav1.Duration{Duration: time.Hour}, Reference: &sourcev1.OCIRepositoryRef{Tag: tag}, Ignore: leaveOut(),
		},
	}, func(files map[string]string) { w.Must(env.Registry.PushFiles(w.Context(), repository, tag, files)) }}
}

// bucketConfig is a Bucket.
func (w world) bucketConfig() origin {
	var stored atomic.Pointer[map[string]string]
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		bucket(*stored.Load()).ServeHTTP(rw, req)
	}))
	w.Cleanup(server.Close)
	return origin{w, &sourcev1.Bucket{
		ObjectMeta: w.Meta("config"),
		Spec: sourcev1.BucketSpec{
			Provider: sourcev1.BucketProviderGeneric, BucketName: bucketName, Endpoint: server.Listener.Addr().String(), Insecure: true,
			Interval: metav1.Duration{Duration: time.Hour}, Ignore: leaveOut(),
		},
	}, func(files map[string]string) { stored.Store(&files) }}
}

// externalConfig is an ExternalArtifact, whose status its producer writes.
func (w world) externalConfig() origin {
	var archives sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if archive, found := archives.Load(req.URL.Path); found {
			_, _ = rw.Write(archive.([]byte)) //nolint:forcetypeassert // store puts nothing else in
			return
		}
		http.NotFound(rw, req)
	}))
	w.Cleanup(server.Close)
	source := &sourcev1.ExternalArtifact{ObjectMeta: w.Meta("config")}
	w.Create(source)
	return origin{w, source, func(files map[string]string) {
		archive, err := harness.PackFiles(files)
		w.Must(err)
		of := digest.FromBytes(archive)
		name := "/" + of.Encoded() + ".tar.gz"
		archives.Store(name, archive)
		w.Get(source.Name, source)
		source.Status.Artifact = &fluxmeta.Artifact{
			URL: server.URL + name, Path: strings.TrimPrefix(name, "/"), Digest: of.String(), Revision: "latest@" + of.String(), LastUpdateTime: metav1.Now(),
		}
		apimeta.SetStatusCondition(&source.Status.Conditions, metav1.Condition{Type: fluxmeta.ReadyCondition, Status: yes, Reason: fluxmeta.SucceededReason})
		w.Must(env.Client.Status().Update(w.Context(), source))
	}}
}

// gitConfig is a GitRepository.
func (w world) gitConfig() origin {
	source := w.config()
	source.Spec.Ignore = leaveOut()
	return origin{w, source, func(files map[string]string) { w.commitConfig(files) }}
}

// publish stores files, and waits until the source has them. It returns the revision.
func (o origin) publish(files map[string]string) (revision string) {
	o.Helper()
	before := ""
	if a := o.source.GetArtifact(); a != nil {
		before = a.Revision
	}
	o.store(files)
	switch {
	case o.source.GetUID() == "":
		o.Create(o.source)
	case o.source.GetArtifact() == nil || o.source.GetArtifact().Revision == before:
		o.Get(o.source.GetName(), o.source)
		o.requestReconciliation(o.source)
	}
	o.Must(env.Until(o.Context(), "another revision than "+before, func() (string, bool) {
		if err := env.Client.Get(o.Context(), client.ObjectKeyFromObject(o.source), o.source); err != nil {
			return err.Error(), false
		}
		if a := o.source.GetArtifact(); a != nil {
			revision = a.Revision
		}
		return revision, revision != "" && revision != before
	}, o.source))
	return revision
}

// hello installs a release with the values of prod.
func (o origin) hello() *helmv2.HelmRelease {
	o.Helper()
	gvk, err := env.Client.GroupVersionKindFor(o.source)
	o.Must(err)
	hr := o.Draft("hello", fixture.ChartRef(helmv2.KindOCIRepository, "hello"), values{"replicas": 0, "hook": values{"enabled": false}})
	hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: gvk.Kind, Name: "config", ValuesKey: "envs/prod/*.yaml"}}
	o.Create(hr)
	o.UntilRevision(hr, 1)
	o.message("hello", "one")
	return hr
}

// prod has the values of the release by their path. Each kind of source leaves out other files of ignored.
const prod = "envs/prod/hello.yaml"

func ignored() map[string]string {
	return map[string]string{
		".sourceignore": "/envs/prod/1.yaml\n", "envs/prod/.sourceignore": "2.yaml\n",
		"envs/prod/1.yaml": "global: {one: true}\n", "envs/prod/2.yaml": "global: {two: true}\n", "envs/prod/3.yaml": "global: {three: true}\n",
	}
}

// leaveOut is spec.ignore of the sources.
func leaveOut() *string { return ptr("/envs/prod/3.yaml\n") }

// upgrades: a revision whose files of the release are the same is no upgrade, even if the release is
// reconciled with it. One with other files is, and its record names the source and the files, which are
// those that diff takes of a directory.
func (o origin) upgrades() *helmv2.HelmRelease {
	o.Helper()
	files := func(message, dev string) map[string]string {
		all := ignored()
		all[prod], all["envs/dev/hello.yaml"] = "message: "+message+"\n", "message: "+dev+"\n"
		return all
	}
	o.publish(files("one", "dev"))
	hr := o.hello()
	o.publish(files("one", "another"))
	o.reconcile(hr, "other files")
	o.UntilRevision(hr, 1)
	revision := o.publish(files("two", "another"))
	o.untilUpgraded(hr, 2)
	o.message("hello", "two")
	record := &corev1.Secret{}
	o.Get("sh.helm.release.v1.hello.v2", record)
	want := fmt.Sprintf("/%s/config %s (envs/prod/*.yaml %.19s)", o.Namespace, revision, o.digestIn(hr, files("two", "another")))
	if from := record.Annotations[helmv2.AnnotationSourceRevision]; !strings.Contains(from, want) {
		o.Errorf("revision 2 is from %q, want %q", from, want)
	}
	return hr
}

// digestIn returns the digest of the files that a release would use of a directory.
func (o origin) digestIn(hr *helmv2.HelmRelease, files map[string]string) string {
	o.Helper()
	r := inputs.NewResolver(env.Client, env.Client, nil).WithSettings(diff.Defaults()).WithCheckouts(inputs.Checkouts{client.ObjectKeyFromObject(o.source): o.directory(files)})
	want, err := r.Values(o.Context(), hr)
	o.Must(err)
	return want.Files[0].Digest
}

// obeysPolicies: a file with a credential is refused, and another commit mends it. So is a source that is
// not in the list of a policy.
func (o origin) obeysPolicies(hr *helmv2.HelmRelease) {
	o.Helper()
	const credential = "hunter2-of-values-from-sources"
	policy := &v1alpha1.ReleasePolicy{ObjectMeta: o.Meta("values"), Spec: v1alpha1.ReleasePolicySpec{
		Values: &v1alpha1.ValuesPolicy{PlaintextSecrets: v1alpha1.PlaintextSecretsDeny},
	}}
	o.Create(policy)
	allow := func(sources ...string) {
		before := policy.DeepCopy()
		policy.Spec.Values.Sources = sources
		o.Must(env.Client.Patch(o.Context(), policy, client.MergeFrom(before)))
	}
	name := "GitRepository/" + o.Namespace + "/config"

	o.publish(map[string]string{prod: "message: three\nauth: {password: " + credential + "}\n"})
	o.UntilCondition(hr, helmv2.ConditionReady, no, helmv2.ReasonPolicyRefused, "ReleasePolicy/values refuses spec.valuesFrom[0]", prod+" of "+name, "auth.password looks like")
	o.UntilCondition(hr, helmv2.ConditionStalled, yes, helmv2.ReasonPolicyRefused)
	o.equal("the revision", hr.Status.History[0].Version, 2)
	o.untilEvents(hr, helmv2.ReasonPolicyRefused)
	var events corev1.EventList
	o.Must(env.Client.List(o.Context(), &events, client.InNamespace(o.Namespace)))
	public, err := json.Marshal([]any{hr, events})
	o.Must(err)
	if strings.Contains(string(public), credential) {
		o.Errorf("the value is in %s", public)
	}

	o.publish(map[string]string{prod: "message: three\n"})
	o.untilUpgraded(hr, 3)
	o.message("hello", "three")

	allow(helmv2.HelmReleaseKind, "GitRepository/other")
	o.UntilCondition(hr, helmv2.ConditionReady, no, helmv2.ReasonPolicyRefused, "ReleasePolicy/values refuses spec.valuesFrom[0]", fmt.Sprint("not from ", "envs/prod/*.yaml of ", name))
	allow(helmv2.HelmReleaseKind, "GitRepository/config")
	o.UntilRevision(hr, 3)
}
