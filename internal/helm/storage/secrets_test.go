// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// withJSON stores raw as the body of a revision of prod/app.
func withJSON(t *testing.T, clients *fake.Clientset, version int, raw string) {
	t.Helper()
	data, err := packed([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	withData(t, clients, version, data)
}

// contentOf returns the content of a record whose JSON is raw.
func contentOf(t *testing.T, raw string) *content {
	t.Helper()
	data, err := packed([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	c, err := decode(nil, "prod", &corev1.Secret{Data: map[string][]byte{dataKey: data}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func withData(t *testing.T, clients *fake.Clientset, version int, data []byte) {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:   Key("app", version),
			Labels: map[string]string{"owner": "helm", "name": "app", "status": "deployed", "createdAt": "5", "mine": "kept"},
		},
		Type: secretType, Data: map[string][]byte{dataKey: data},
	}
	if _, err := clients.CoreV1().Secrets("prod").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// storedBody returns the members of the JSON of a stored revision.
func storedBody(t *testing.T, clients *fake.Clientset, version int) map[string]any {
	t.Helper()
	secret, err := clients.CoreV1().Secrets("prod").Get(t.Context(), Key("app", version), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := unpack(secret.Data[dataKey])
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestHelmAndWeReadEachOther compares with Helm's own driver.
func TestHelmAndWeReadEachOther(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	d.SetApplyMethod("ssa")
	helms := driver.NewSecrets(clients.CoreV1().Secrets("prod"))
	ours, theirs := revision(1, helmrelease.StatusDeployed, map[string]string{"mine": "kept"}), revision(2, helmrelease.StatusFailed, map[string]string{"mine": "kept"})
	ours.Chart.Values, theirs.Chart.Values = map[string]any{"a": "b"}, map[string]any{"a": "b"}
	if err := errors.Join(d.Create(key+"1", ours), helms.Create(key+"2", theirs)); err != nil {
		t.Fatal(err)
	}
	reader := openDriver(t.Context(), accessTo(fakeSecrets{clients.CoreV1().Secrets("prod")}), time.Now)
	for version := range 2 {
		ourView, err := reader.Get(Key("app", version+1))
		if err != nil {
			t.Fatal(err)
		}
		helmsView, err := helms.Get(Key("app", version+1))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(helmsView, ourView, cmpopts.IgnoreUnexported(helmrelease.Release{}), cmpopts.IgnoreUnexported(*ourView.Chart)); diff != "" {
			t.Errorf("revision %d (-Helm's view +ours):\n%s", version+1, diff)
		}
	}
	stamped := secretLabels(t, clients, key+"1")
	want := map[string]string{
		"name": "app", "owner": "helm", "status": "deployed", "version": "1", "createdAt": "1767323045",
		"mine": "kept", "pintle.dev/revision": "uid-1.1",
	}
	if diff := cmp.Diff(want, stamped); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if err := d.Update(key+"1", ours); err != nil {
		t.Fatal(err)
	}
	want["modifiedAt"] = "1767323045"
	if diff := cmp.Diff(want, secretLabels(t, clients, key+"1")); diff != "" {
		t.Errorf("labels after an update (-want +got):\n%s", diff)
	}
	all, err := d.Query(map[string]string{"name": "app", "owner": "helm"})
	if err != nil || len(all) != 2 {
		t.Errorf("%d revisions, error %v", len(all), err)
	}
	failed, err := d.List(func(r *helmrelease.Release) bool { return r.Info.Status == helmrelease.StatusFailed })
	if err != nil || len(failed) != 1 || failed[0].Version != 2 {
		t.Errorf("failed revisions %v, error %v", failed, err)
	}
}

func TestStorageSaysWhatHelmAsksFor(t *testing.T) {
	t.Parallel()
	d, _ := newDriver(t, unmarked)
	if _, err := d.Get(key + "1"); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("Get: %v", err)
	}
	if _, err := d.Query(map[string]string{"name": "app"}); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("Query: %v", err)
	}
	if _, err := d.Delete(key + "1"); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("Delete: %v", err)
	}
	if all, err := d.List(func(*helmrelease.Release) bool { return true }); all != nil || err != nil {
		t.Errorf("List: %v, %v", all, err)
	}
	if d.Name() != "Secret" {
		t.Errorf("name %q", d.Name())
	}
	if err := d.Create(key+"1", revision(1, helmrelease.StatusDeployed, nil)); err != nil {
		t.Fatal(err)
	}
	if rls, err := d.Delete(key + "1"); err != nil || rls.Version != 1 || d.Revisions() != nil {
		t.Errorf("deleted %v, left %v, error %v", rls, d.Revisions(), err)
	}
}

const newerHelm = `{"name":"app","namespace":"prod","version":1,"apply_method":"ssa","future":{"a":[1,"<"]},` +
	`"info":{"status":"deployed","first_deployed":"2026-01-02T03:04:05Z","rollback_revision":7},"manifest":"m"}`

func TestWhatNewerHelmsWriteIsKept(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(*Driver) error{
		"Read before":       func(d *Driver) error { _, err := d.Query(map[string]string{"name": "app"}); return err },
		"Never seen before": func(*Driver) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, clients := newDriver(t, unmarked)
			withJSON(t, clients, 1, newerHelm)
			rls := contentOf(t, newerHelm).release
			if err := look(d); err != nil {
				t.Fatal(err)
			}
			rls.Info.Status = helmrelease.StatusSuperseded
			// Twice: what is kept does not wear off.
			if err := errors.Join(d.Update(key+"1", rls), d.Update(key+"1", rls)); err != nil {
				t.Fatal(err)
			}
			got := storedBody(t, clients, 1)
			want := map[string]any{
				"name": "app", "namespace": "prod", "version": 1.0, "manifest": "m",
				"apply_method": "ssa", "future": map[string]any{"a": []any{1.0, "<"}},
				"info": map[string]any{
					"status": "superseded", "first_deployed": "2026-01-02T03:04:05Z", "last_deployed": "", "deleted": "",
					"rollback_revision": 7.0,
				},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the record (-want +got):\n%s", diff)
			}
			if labels := secretLabels(t, clients, key+"1"); labels["createdAt"] != "5" {
				t.Errorf("labels %v", labels)
			}
			if err := d.Create(key+"2", revision(2, helmrelease.StatusDeployed, nil)); err != nil {
				t.Fatal(err)
			}
			if next := storedBody(t, clients, 2); next["future"] != nil || next["apply_method"] != nil {
				t.Error("what was kept of one revision went into another")
			}
		})
	}
}

func TestUnreadableRecord(t *testing.T) {
	t.Parallel()
	const canary = "hunter22"
	packed := func(raw string) []byte {
		data, err := packed([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	plain := func(raw string) []byte { return []byte(base64.StdEncoding.EncodeToString([]byte(raw))) }
	release := func(info, more string) string {
		return fmt.Sprintf(`{"name":"app","version":1,"info":%s%s}`, info, more)
	}
	const info = `{"status":"deployed"}`
	for name, tc := range map[string]struct {
		data  []byte
		cause string
	}{
		"Nothing":     {nil, errNotRelease.Error()},
		"NotBase64":   {[]byte("{" + canary), "its data is not base64"},
		"BrokenGzip":  {plain("\x1f\x8b\x08" + canary), "its data cannot be decompressed"},
		"CutOff":      {plain(string(gunzippable(t, canary)[:30])), "its data cannot be decompressed"},
		"NotJSON":     {packed(canary), errNotRelease.Error()},
		"OldAndPlain": {plain(canary), errNotRelease.Error()},
		"List":        {packed(`["hunter22"]`), errNotRelease.Error()},
		"WrongType":   {packed(`{"name":"app","version":"hunter22"}`), errNotRelease.Error()},
		"BadTime":     {packed(release(`{"deleted":"hunter22"}`, "")), errNotRelease.Error()},
		"BadHooks":    {packed(release(info, `,"hooks":"hunter22"`)), errNotRelease.Error()},
		"NullHook":    {packed(release(info, `,"hooks":[null]`)), errNotRelease.Error()},
		"NoInfo":      {packed(release("null", "")), errNotRelease.Error()},
		"NoVersion":   {packed(`{"name":"app","info":{}}`), errNotRelease.Error()},
		"NoName":      {packed(`{"version":1,"info":{}}`), errNotRelease.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, clients := newDriver(t, unmarked)
			if err := d.Create(key+"2", revision(2, helmrelease.StatusDeployed, nil)); err != nil {
				t.Fatal(err)
			}
			withData(t, clients, 1, tc.data)
			want := "no revision can be read from Secret prod/sh.helm.release.v1.app.v1: " + tc.cause + "; restore or delete it"
			_, queried := d.Query(map[string]string{"name": "app"})
			_, got := d.Get(key + "1")
			updated := d.Update(key+"1", revision(1, helmrelease.StatusDeployed, nil))
			for what, err := range map[string]error{"Query": queried, "Get": got, "Update": updated} {
				if err == nil || err.Error() != want {
					t.Errorf("%s: %v", what, err)
				}
			}
			secret, err := clients.CoreV1().Secrets("prod").Get(t.Context(), key+"1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decode(nil, "prod", secret); err == nil || err.Error() != want {
				t.Errorf("decode: %v", err)
			}
		})
	}
}

// TestBomb: a small Secret must not become a large memory.
func TestBomb(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	chunk := make([]byte, 1<<20)
	for range maxUnpacked / len(chunk) {
		_, _ = w.Write(chunk)
	}
	if _, err := w.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := unpack([]byte(base64.StdEncoding.EncodeToString(buf.Bytes())))
	if err == nil || err.Error() != "it decompresses to more than 67108864 bytes" {
		t.Errorf("error %v", err)
	}
}

// gunzippable returns what is gzip of a text, without the base64 around it.
func gunzippable(t *testing.T, text string) []byte {
	t.Helper()
	data, err := packed([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Records that are older than Helm's compression can be read.
func TestUncompressedRecord(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	withData(t, clients, 1, []byte(base64.StdEncoding.EncodeToString([]byte(newerHelm))))
	if rls, err := d.Get(key + "1"); err != nil || rls.Manifest != "m" {
		t.Errorf("release %v, error %v", rls, err)
	}
}

// TestOtherSecretsArePassedOver: a Secret of a user may have the labels of a record.
func TestOtherSecretsArePassedOver(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "app", Labels: map[string]string{"owner": "helm", "name": "app"}}}
	if _, err := clients.CoreV1().Secrets("prod").Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Query(map[string]string{"name": "app"}); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("error %v", err)
	}
}

func TestTooLargeIsExplained(t *testing.T) {
	t.Parallel()
	large := revision(1, helmrelease.StatusDeployed, nil)
	large.Manifest = string(noise(3 << 19))
	invalid := apierrors.NewInvalid(apischema.GroupKind{Kind: "Secret"}, key+"1", nil)
	for name, tc := range map[string]struct {
		reason string
		rls    *helmrelease.Release
		err    error
		told   bool
	}{
		"Validation": {"the API server validates the size of Secrets", large, invalid, true},
		"Request":    {"or does not even read the request", revision(1, helmrelease.StatusDeployed, nil), apierrors.NewRequestEntityTooLargeError("limit is 3"), true},
		"Other":      {"other refusals have other reasons", revision(1, helmrelease.StatusDeployed, nil), invalid, false},
	} {
		for _, verb := range []string{"create", "update"} {
			t.Run(name+" "+verb, func(t *testing.T) {
				t.Parallel()
				d, clients := newDriver(t, unmarked)
				withJSON(t, clients, 1, newerHelm)
				clients.PrependReactor(verb, "secrets", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
				act := d.Create
				if verb == "update" {
					act = d.Update
				}
				copied := *tc.rls
				err := act(key+"1", &copied)
				if !errors.Is(err, tc.err) || !strings.HasPrefix(err.Error(), verb+" Secret prod/sh.helm.release.v1.app.v1: ") {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				if told := strings.Contains(err.Error(), "bytes, compressed, and the API server allows 1048576"); told != tc.told {
					t.Errorf("%s: %v", tc.reason, err)
				}
				if d.Revisions() != nil {
					t.Error("what was refused is remembered as stored")
				}
			})
		}
	}
}

// noise returns bytes that compression gains little from, and the same ones always.
func noise(n int) []byte {
	var buf bytes.Buffer
	for x := uint64(1); buf.Len() < n; {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		buf.WriteByte(byte(x>>32)%94 + 32)
	}
	return buf.Bytes()
}

func TestExtend(t *testing.T) {
	t.Parallel()
	for want, object := range map[string]string{`{"x":1}`: `{}`, `{"a":2,"x":1}`: `{"a":2}`} {
		got, err := extend([]byte(object), map[string]json.RawMessage{"x": []byte("1")})
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s, want %s (%v)", object, got, want, err)
		}
	}
}
