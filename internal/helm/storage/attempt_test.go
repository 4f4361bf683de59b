// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// versionedSecrets is a secretAPI with resourceVersions, whose answers can be lost.
type versionedSecrets struct {
	stored  map[string]*corev1.Secret
	version int
	// lose makes the next write fail after it was carried out, and sends it again.
	lose bool
}

func (f *versionedSecrets) get(_ context.Context, name string) (*corev1.Secret, error) {
	if s, ok := f.stored[name]; ok {
		return s.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
}

func (f *versionedSecrets) list(context.Context, labels.Set) ([]record, string, error) {
	var all []record
	for _, s := range f.stored {
		rec, _ := recordOf(s)
		all = append(all, rec)
	}
	return all, "", nil
}

func (f *versionedSecrets) write(secret *corev1.Secret) (record, error) {
	f.version++
	stored := secret.DeepCopy()
	stored.ResourceVersion = strings.Repeat("x", f.version)
	f.stored[secret.Name] = stored
	rec, _ := recordOf(stored)
	return rec, nil
}

func (f *versionedSecrets) create(_ context.Context, secret *corev1.Secret) (record, error) {
	return f.write(secret)
}

func (f *versionedSecrets) update(ctx context.Context, secret *corev1.Secret) (record, error) {
	if secret.ResourceVersion != f.stored[secret.Name].ResourceVersion {
		return record{}, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, secret.Name, errors.New("changed"))
	}
	rec, err := f.write(secret)
	if f.lose {
		f.lose = false
		return f.update(ctx, secret)
	}
	return rec, err
}

func (f *versionedSecrets) merge(context.Context, string, []byte) (record, error) {
	return record{}, errors.New("not used")
}

func (f *versionedSecrets) delete(_ context.Context, name string) error {
	delete(f.stored, name)
	return nil
}

func attemptDriver(api secretAPI, action helmv2.ReleaseAction, stop func(error)) *Driver {
	d := openDriver(context.Background(), accessTo(api), time.Now)
	d.options = Options{UID: "uid", Attempt: release.Attempt{Action: action, Inputs: release.Inputs{Chart: "note@1.0.0"}}, Stop: stop}
	d.key = keyOf("k")
	return d
}

// TestAttempts: a new record has an attempt. Another process resumes it under the same ID, and the
// first one cannot write the record any more.
func TestAttempts(t *testing.T) {
	t.Parallel()
	api := &versionedSecrets{stored: map[string]*corev1.Secret{}}
	var stopped error
	first := attemptDriver(api, helmv2.ActionInstall, func(err error) { stopped = err })
	rls := revision(1, helmrelease.StatusPendingInstall, nil)
	if err := first.Create(Key("app", 1), rls); err != nil {
		t.Fatal(err)
	}
	begun, err := first.AttemptOn(1)
	if err != nil || begun.ID != first.Attempt() || !strings.HasPrefix(begun.ID, "uid.1.") || begun.Run != 1 {
		t.Fatalf("the attempt is %+v, %v", begun, err)
	}
	if diff := cmp.Diff(release.Inputs{Chart: "note@1.0.0"}, begun.Inputs); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	progress := *begun
	progress.Event, progress.Running = "pre-install", "Job/migrate"
	if err := errors.Join(first.SetAttempt(1, progress), first.Update(Key("app", 1), rls)); err != nil {
		t.Fatal(err)
	}

	if _, _, err := attemptDriver(api, helmv2.ActionUpgrade, nil).Resume(1); err == nil {
		t.Error("an upgrade has resumed an install")
	}
	second := attemptDriver(api, helmv2.ActionInstall, nil)
	resumed, attempt, err := second.Resume(1)
	if err != nil || resumed.Info.Status != helmrelease.StatusPendingInstall || second.Attempt() != begun.ID {
		t.Fatalf("%+v, %v", resumed, err)
	}
	progress.Run = 2
	if diff := cmp.Diff(progress, attempt); diff != "" {
		t.Errorf("resumed attempt (-want +got):\n%s", diff)
	}
	stored := api.stored[Key("app", 1)].DeepCopy()
	rls.Info.Status = helmrelease.StatusDeployed
	if err := first.Update(Key("app", 1), rls); !errors.Is(err, ErrOvertaken) || !errors.Is(stopped, ErrOvertaken) {
		t.Errorf("update by the first process: %v, stopped: %v", err, stopped)
	}
	if diff := cmp.Diff(stored, api.stored[Key("app", 1)]); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

// TestLostUpdate: an update whose answer is lost, and that meets itself when it is sent again, has
// succeeded.
func TestLostUpdate(t *testing.T) {
	t.Parallel()
	api := &versionedSecrets{stored: map[string]*corev1.Secret{}}
	d := attemptDriver(api, helmv2.ActionInstall, func(err error) { t.Errorf("stopped: %v", err) })
	rls := revision(1, helmrelease.StatusPendingInstall, nil)
	if err := d.Create(Key("app", 1), rls); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		api.lose = true
		rls.Info.Description += "again"
		if err := d.Update(Key("app", 1), rls); err != nil {
			t.Error(err)
		}
	}
}

// TestEndedEarlyIsNoTarget: Helm marks the revision that an upgrade replaces as superseded. One that
// has ended early never worked, and stays failed.
func TestEndedEarlyIsNoTarget(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]helmrelease.Status{
		helmv2.LabelInterrupted: helmrelease.StatusFailed, helmv2.LabelOutdated: helmrelease.StatusFailed, "other": helmrelease.StatusSuperseded,
	} {
		api := &versionedSecrets{stored: map[string]*corev1.Secret{}}
		d := attemptDriver(api, helmv2.ActionInstall, nil)
		rls := revision(1, helmrelease.StatusFailed, nil)
		if err := d.Create(Key("app", 1), rls); err != nil {
			t.Fatal(err)
		}
		rls.Labels = withLabel(rls.Labels, label, "true")
		rls.Info.Status = helmrelease.StatusSuperseded
		if err := d.Update(Key("app", 1), rls); err != nil {
			t.Fatal(err)
		}
		if got := api.stored[Key("app", 1)].Labels["status"]; got != want.String() {
			t.Errorf("%s: %s, want %s", label, got, want)
		}
	}
}
