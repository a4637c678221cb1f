"""The first schema"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from triptych.storage.models import Utc

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "failed_sign_in",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account_hash", sa.String(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("failed_sign_in", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_failed_sign_in_account_hash"), ["account_hash"], unique=False)

    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("pseudonym", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=True),
        sa.Column("email", sa.String(), nullable=True),
        sa.Column("passcode_hash", sa.String(), nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("disabled_at", Utc(), nullable=True),
        sa.CheckConstraint("kind IN ('human', 'judge', 'simulated')", name="ck_kind_known"),
        sa.CheckConstraint("role IN ('annotator', 'lead')", name="ck_role_known"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("pseudonym"),
    )
    op.create_table(
        "rubric",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("yaml", sa.String(), nullable=False),
        sa.Column("loaded_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("sha256"),
    )
    op.create_table(
        "setting",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "login",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("secret_hash", sa.String(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.Column("revoked_at", Utc(), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret_hash"),
    )
    with op.batch_alter_table("login", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_login_person_id"), ["person_id"], unique=False)

    op.create_table(
        "panel_identity",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("panel", sa.String(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("panel", "external_id"),
    )
    with op.batch_alter_table("panel_identity", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_panel_identity_person_id"), ["person_id"], unique=False)

    op.create_table(
        "study",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("series", sa.String(), nullable=False),
        sa.Column("round", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("access", sa.String(), nullable=False),
        sa.Column("demo", sa.Boolean(), nullable=False),
        sa.Column("rubric_id", sa.Integer(), nullable=False),
        sa.Column("presentation", sa.String(), nullable=False),
        sa.Column("raters_per_item", sa.Integer(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("seed", sa.String(), nullable=False),
        sa.Column("item_count", sa.Integer(), nullable=False),
        sa.Column("design_hash", sa.String(), nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("opened_at", Utc(), nullable=True),
        sa.Column("paused_at", Utc(), nullable=True),
        sa.Column("unblinded_at", Utc(), nullable=True),
        sa.Column("event_number", sa.Integer(), nullable=False),
        sa.Column("event_hash", sa.String(), nullable=False),
        sa.CheckConstraint("access IN ('open', 'invited', 'panel')", name="ck_access_known"),
        sa.CheckConstraint("round IN ('pilot', 'main', 'expert', 'crowd')", name="ck_round_known"),
        sa.CheckConstraint("state IN ('draft', 'open', 'paused', 'closed')", name="ck_state_known"),
        sa.CheckConstraint("raters_per_item >= 1", name="ck_raters_per_item"),
        sa.ForeignKeyConstraint(
            ["rubric_id"],
            ["rubric.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("series", "round"),
        sa.UniqueConstraint("slug"),
    )
    op.create_table(
        "ticket",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("secret_hash", sa.String(), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.Column("used_at", Utc(), nullable=True),
        sa.CheckConstraint("kind IN ('sign_in', 'setup')", name="ck_kind_known"),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret_hash"),
    )
    with op.batch_alter_table("ticket", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_ticket_person_id"), ["person_id"], unique=False)

    op.create_table(
        "criterion",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("level", sa.String(), nullable=False),
        sa.Column("about", sa.String(), nullable=False),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("step", sa.Float(), nullable=True),
        sa.CheckConstraint("about IN ('candidate', 'item')"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("study_id", "key"),
    )
    with op.batch_alter_table("criterion", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_criterion_study_id"), ["study_id"], unique=False)

    op.create_table(
        "invitation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("secret_hash", sa.String(), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.Column("revoked_at", Utc(), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret_hash"),
    )
    with op.batch_alter_table("invitation", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_invitation_person_id"), ["person_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_invitation_study_id"), ["study_id"], unique=False)

    op.create_table(
        "item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("context", sa.String(), nullable=False),
        sa.Column("meta", sa.JSON(), nullable=False),
        sa.Column("extra_texts", sa.JSON(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("raters", sa.Integer(), nullable=False),
        sa.Column("taken", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("retired", sa.Boolean(), nullable=False),
        sa.Column("retired_reason", sa.String(), nullable=True),
        sa.CheckConstraint("purpose IN ('main', 'training')", name="ck_item_purpose"),
        sa.CheckConstraint("taken >= 0 AND taken <= raters", name="ck_never_over_assigned"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("study_id", "external_id"),
    )
    with op.batch_alter_table("item", schema=None) as batch_op:
        batch_op.create_index(
            "ix_item_free",
            ["study_id", "purpose", "retired", "priority", "taken", "rank"],
            unique=False,
            sqlite_where=sa.text("taken < raters"),
            postgresql_where=sa.text("taken < raters"),
        )
        batch_op.create_index(
            "ix_item_next", ["study_id", "purpose", "retired", "priority", "taken", "rank"], unique=False
        )

    op.create_table(
        "membership",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("joined_at", Utc(), nullable=False),
        sa.Column("consent_version", sa.String(), nullable=True),
        sa.Column("consented_at", Utc(), nullable=True),
        sa.Column("excluded_at", Utc(), nullable=True),
        sa.Column("excluded_reason", sa.String(), nullable=True),
        sa.CheckConstraint("role IN ('annotator', 'lead')", name="ck_role_known"),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("study_id", "person_id", "role"),
    )
    with op.batch_alter_table("membership", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_membership_person_id"), ["person_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_membership_study_id"), ["study_id"], unique=False)

    op.create_table(
        "system",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("blind_code", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("study_id", "blind_code"),
        sa.UniqueConstraint("study_id", "name"),
    )
    op.create_table(
        "assignment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("repeat_of", sa.Integer(), nullable=True),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reserved_at", Utc(), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.Column("submitted_at", Utc(), nullable=True),
        sa.Column("active_seconds", sa.Float(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("note", sa.String(), nullable=True),
        sa.Column("draft", sa.JSON(), nullable=True),
        sa.Column("draft_seq", sa.Integer(), nullable=False),
        sa.Column("pen", sa.String(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("design_hash", sa.String(), nullable=True),
        sa.CheckConstraint("(purpose = 'repeat') = (repeat_of IS NOT NULL)", name="ck_repeat_of"),
        sa.CheckConstraint(
            "(state IN ('submitted', 'surplus', 'skipped', 'ignored')) = (submitted_at IS NOT NULL) OR state = 'withdrawn'",
            name="ck_submitted_has_time",
        ),
        sa.CheckConstraint("origin IN ('web', 'workbook', 'import', 'judge', 'simulated')", name="ck_origin_known"),
        sa.CheckConstraint(
            "purpose IN ('main', 'training', 'entry_test', 'attention', 'gold', 'repeat', 'adjudication')",
            name="ck_purpose_known",
        ),
        sa.CheckConstraint(
            "state IN ('reserved', 'submitted', 'surplus', 'skipped', 'ignored', 'expired', 'withdrawn')",
            name="ck_state_known",
        ),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["repeat_of"],
            ["assignment.id"],
        ),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token"),
    )
    with op.batch_alter_table("assignment", schema=None) as batch_op:
        batch_op.create_index("ix_assignment_expiry", ["study_id", "state", "expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_assignment_item_id"), ["item_id"], unique=False)
        batch_op.create_index("ix_assignment_person", ["person_id", "study_id", "submitted_at"], unique=False)
        batch_op.create_index(
            "ux_one_live_reservation",
            ["study_id", "person_id"],
            unique=True,
            sqlite_where=sa.text("state = 'reserved'"),
            postgresql_where=sa.text("state = 'reserved'"),
        )
        batch_op.create_index(
            "ux_one_main_per_person",
            ["item_id", "person_id"],
            unique=True,
            sqlite_where=sa.text("purpose IN ('main', 'training') AND state <> 'expired'"),
            postgresql_where=sa.text("purpose IN ('main', 'training') AND state <> 'expired'"),
        )

    op.create_table(
        "candidate",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("system_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=True),
        sa.Column("turns", sa.JSON(), nullable=True),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["system_id"], ["system.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("item_id", "system_id"),
    )
    with op.batch_alter_table("candidate", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_candidate_system_id"), ["system_id"], unique=False)

    op.create_table(
        "option",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("criterion_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("missing", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["criterion_id"], ["criterion.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("criterion_id", "key"),
    )
    with op.batch_alter_table("option", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_option_criterion_id"), ["criterion_id"], unique=False)

    op.create_table(
        "reference",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("criterion_id", sa.Integer(), nullable=False),
        sa.Column("accepted", sa.String(), nullable=False),
        sa.Column("close", sa.Float(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["criterion_id"], ["criterion.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("item_id", "position", "criterion_id"),
    )
    with op.batch_alter_table("reference", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_reference_criterion_id"), ["criterion_id"], unique=False)

    op.create_table(
        "turn",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("speaker", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("item_id", "position"),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=True),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("previous_hash", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("study_id", "number"),
    )
    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.create_index("ix_event_assignment", ["assignment_id"], unique=False)

    op.create_table(
        "slot",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("candidate_id", sa.Integer(), nullable=False),
        sa.Column("order_known", sa.Boolean(), nullable=False),
        sa.Column("set_aside", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidate.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("assignment_id", "position"),
        sa.UniqueConstraint("assignment_id", "candidate_id"),
    )
    with op.batch_alter_table("slot", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_slot_candidate_id"), ["candidate_id"], unique=False)

    op.create_table(
        "submission",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("pen", sa.String(), nullable=False),
        sa.Column("received_at", Utc(), nullable=False),
        sa.Column("active_seconds", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("assignment_id", "version"),
    )
    with op.batch_alter_table("submission", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_submission_assignment_id"), ["assignment_id"], unique=False)

    op.create_table(
        "event_detail",
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("salt", sa.String(), nullable=False),
        sa.Column("old", sa.JSON(), nullable=True),
        sa.Column("new", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["event_id"], ["event.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("event_id"),
    )
    op.create_table(
        "highlight",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("start", sa.Integer(), nullable=True),
        sa.Column("end", sa.Integer(), nullable=True),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("quote", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
        sa.CheckConstraint(
            '(start IS NULL AND "end" IS NULL) OR (start >= 0 AND "end" > start)', name="ck_span_in_order"
        ),
        sa.ForeignKeyConstraint(
            ["assignment_id", "position"],
            ["slot.assignment_id", "slot.position"],
            name="fk_highlight_slot",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("highlight", schema=None) as batch_op:
        batch_op.create_index("ix_highlight_assignment", ["assignment_id"], unique=False)

    op.create_table(
        "rating",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("criterion_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Float(), nullable=True),
        sa.Column("option_id", sa.Integer(), nullable=True),
        sa.Column("missing", sa.Boolean(), nullable=False),
        sa.CheckConstraint("missing OR (number IS NOT NULL) <> (option_id IS NOT NULL)", name="ck_one_value"),
        sa.CheckConstraint("number IS NULL OR number = number + 0", name="ck_number_is_a_number"),
        sa.ForeignKeyConstraint(
            ["assignment_id", "position"],
            ["slot.assignment_id", "slot.position"],
            name="fk_rating_slot",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["criterion_id"], ["criterion.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["option_id"],
            ["option.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("assignment_id", "position", "criterion_id"),
    )
    with op.batch_alter_table("rating", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_rating_criterion_id"), ["criterion_id"], unique=False)
        batch_op.create_index(
            "ux_rating_about_item",
            ["assignment_id", "criterion_id"],
            unique=True,
            sqlite_where=sa.text("position IS NULL"),
            postgresql_where=sa.text("position IS NULL"),
        )

    op.create_table(
        "explanation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("rating_id", sa.Integer(), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("words", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["rating_id"], ["rating.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("rating_id"),
    )
