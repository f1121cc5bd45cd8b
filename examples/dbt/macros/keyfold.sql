{#- dbt-spark's macros for `file_format: keyfold`. Copy this file into the `macros` of a project. A
    model, seed or snapshot of another format is built by dbt-spark's own macros. -#}

{% macro is_keyfold() %}
  {{ return(config.get('file_format') == 'keyfold') }}
{% endmacro %}


{#- The columns of the primary key: `unique_key`; of a snapshot, the id that dbt gives a version. -#}
{% macro keyfold_primary_key() %}
  {%- if model.resource_type == 'snapshot' -%}
    {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
    {{ return(names.dbt_scd_id) }}
  {%- endif -%}
  {%- set key = config.get('unique_key') -%}
  {%- if not key -%}
    {{ exceptions.raise_compiler_error(
      model.unique_id ~ " has no unique_key, and a keyfold table needs a primary key: set "
      ~ "unique_key to a column or a list of columns, or materialize it as a view"
    ) }}
  {%- endif -%}
  {{ return(key if key is string else key | join(',')) }}
{% endmacro %}


{#- A literal of SQL. -#}
{% macro keyfold_text(value) %}
  {{ return("'" ~ value | string | replace('\\', '\\\\') | replace("'", "\\'") ~ "'") }}
{% endmacro %}


{% macro keyfold_clauses() %}
  {%- set properties = {'primary-key': keyfold_primary_key()} -%}
  {%- do properties.update(config.get('tblproperties') or {}) -%}
  using keyfold
  {{ partition_cols(label='partitioned by') }}
  {{ comment_clause() }}
  tblproperties (
    {%- for name in properties %}
    {{ keyfold_text(name) }} = {{ keyfold_text(properties[name]) }}{{ ',' if not loop.last }}
    {%- endfor %}
  )
{% endmacro %}


{% macro spark__create_table_as(temporary, relation, compiled_code, language='sql') %}
  {%- if temporary or not is_keyfold() -%}
    {{ return(dbt.spark__create_table_as(temporary, relation, compiled_code, language)) }}
  {%- endif -%}
  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {%- set compiled_code = get_select_subquery(compiled_code) -%}
  {%- endif -%}
  create or replace table {{ relation }} {{ keyfold_clauses() }}
  as {{ compiled_code }}
{% endmacro %}


{#- Make or replace the model's table in one commit: readers find the old rows or the new ones. -#}
{% macro keyfold_table() %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set target = this.incorporate(type='table') -%}
  {{ run_hooks(pre_hooks) }}
  {%- if existing is not none and not existing.is_table -%}
    {%- do adapter.drop_relation(existing) -%}
  {%- endif -%}
  {%- call statement('main') -%}
    {{ create_table_as(False, target, compiled_code) }}
  {%- endcall -%}
  {%- do apply_grants(target, config.get('grants'), should_revoke(existing, True)) -%}
  {%- do persist_docs(target, model) -%}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target]}) }}
{% endmacro %}


{% materialization table, adapter='spark' %}
  {{ return(keyfold_table() if is_keyfold() else dbt.materialization_table_spark()) }}
{% endmaterialization %}


{% materialization incremental, adapter='spark' %}
  {%- set existing = load_cached_relation(this) -%}
  {%- set begins = existing is none or existing.is_view or should_full_refresh() -%}
  {%- if is_keyfold() and begins -%}
    {{ return(keyfold_table()) }}
  {%- endif -%}
  {{ return(dbt.materialization_incremental_spark()) }}
{% endmaterialization %}


{% macro dbt_spark_validate_get_file_format(raw_file_format) %}
  {%- if raw_file_format == 'keyfold' -%}{{ return(raw_file_format) }}{%- endif -%}
  {{ return(dbt.dbt_spark_validate_get_file_format(raw_file_format)) }}
{% endmacro %}


{#- keyfold tables take all strategies that Delta's take. -#}
{% macro dbt_spark_validate_get_incremental_strategy(raw_strategy, file_format) %}
  {%- set like = 'delta' if file_format == 'keyfold' else file_format -%}
  {{ return(dbt.dbt_spark_validate_get_incremental_strategy(raw_strategy, like)) }}
{% endmacro %}


{% materialization snapshot, adapter='spark' %}
  {%- if is_keyfold() -%}
    {{ return(dbt.materialization_snapshot_default()) }}
  {%- endif -%}
  {{ return(dbt.materialization_snapshot_spark()) }}
{% endmaterialization %}


{#- SHOW TABLE EXTENDED leaves out the views of a catalog, which SHOW TABLES lists. -#}
{% macro spark__list_relations_without_caching(relation) %}
  {%- set found, names = [], [] -%}
  {%- for row in dbt.spark__list_relations_without_caching(relation).rows -%}
    {%- do found.append(row) -%}
    {%- do names.append(row[1]) -%}
  {%- endfor -%}
  {%- for row in list_relations_show_tables_without_caching(relation).rows -%}
    {%- if not row[2] and row[1] not in names -%}
      {%- do found.append([row[0], row[1], row[2], 'Type: VIEW']) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{#- dbt's own materialization names a database, which Spark's relations refuse. -#}
{% macro spark__get_or_create_relation(database, schema, identifier, type) %}
  {{ return(dbt.default__get_or_create_relation(none, schema, identifier, type)) }}
{% endmacro %}


{% macro spark__post_snapshot(staging_relation) %}
  {%- do adapter.drop_relation(staging_relation.incorporate(type='view')) -%}
{% endmacro %}


{% macro spark__reset_csv_table(model, full_refresh, old_relation, agate_table) %}
  {%- if is_keyfold() -%}
    {{ return(create_csv_table(model, agate_table)) }}
  {%- endif -%}
  {{ return(dbt.spark__reset_csv_table(model, full_refresh, old_relation, agate_table)) }}
{% endmacro %}


{% macro spark__create_csv_table(model, agate_table) %}
  {%- if not is_keyfold() -%}
    {{ return(dbt.spark__create_csv_table(model, agate_table)) }}
  {%- endif -%}
  {%- set types = model['config'].get('column_types', {}) -%}
  {%- set quoted = model['config'].get('quote_columns') -%}
  {% set sql %}
    create or replace table {{ this.render() }} (
      {%- for name in agate_table.column_names %}
      {{ adapter.quote_seed_column(name | string, quoted) }} {{ types.get(name, adapter.convert_type(agate_table, loop.index0)) }}
      {{- ',' if not loop.last }}
      {%- endfor %}
    ) {{ keyfold_clauses() }}
  {% endset %}
  {%- call statement('_') -%}{{ sql }}{%- endcall -%}
  {{ return(sql) }}
{% endmacro %}


{% macro spark__alter_column_comment(relation, column_dict) %}
  {%- if not is_keyfold() -%}
    {{ return(dbt.spark__alter_column_comment(relation, column_dict)) }}
  {%- endif -%}
  {%- for name in column_dict -%}
    {%- set comment = keyfold_text(column_dict[name]['description']) -%}
    {%- do run_query(
      'alter table ' ~ relation ~ ' alter column ' ~ adapter.quote(name) ~ ' comment ' ~ comment
    ) -%}
  {%- endfor -%}
{% endmacro %}
