//! The fast way to read a line: one pass, for a line in the order that we write.
//!
//! In: a line. Out: its record, or nothing where the envelope does not stand before the event's own fields or where
//! anything else is unusual; `Record::parse` then reads it the long way, which decides. A loop's journal has
//! thousands of lines, and this halves their cost.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{Envelope, Event, Record};
use crate::domain::oid::Oid;

/// Kinds whose fields are read without their tag.
const PLAIN: [&str; 5] = ["loop_started", "commit_seen", "tests_ran", "signal_given", "iteration_ended"];
const ENVELOPE: [&str; 10] = ["v", "id", "on", "loop", "seq", "at", "commit", "by", "epoch", "type"];

pub(super) fn parse(line: &str) -> Option<Record> {
    let mut json = serde_json::Deserializer::from_str(line);
    let record = json.deserialize_map(InOrder).ok()?;
    json.end().ok().map(|()| record)
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an envelope followed by its event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let envelope = envelope(&mut map)?;
        let event = Event::read(envelope.kind, MapAccessDeserializer::new(Fields(map)))?;
        Ok(envelope.with(event))
    }
}

/// Reads the envelope in the order of `Record`.
fn envelope<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Envelope<'de>, A::Error> {
    let v: u32 = named(map, "v")?;
    let id: &str = named(map, "id")?;
    let on: Oid = named(map, "on")?;
    let loop_id: &str = named(map, "loop")?;
    let seq: u64 = named(map, "seq")?;
    let at: &str = named(map, "at")?;
    let mut key: &str = map.next_key()?.unwrap_or_default();
    let mut commit = None;
    if key == "commit" {
        (commit, key) = (map.next_value()?, map.next_key()?.unwrap_or_default());
    }
    let by = value_of(map, key, "by")?;
    key = map.next_key()?.unwrap_or_default();
    let mut epoch = 0;
    if key == "epoch" {
        (epoch, key) = (map.next_value()?, map.next_key()?.unwrap_or_default());
    }
    let kind: &str = value_of(map, key, "type")?;
    if v != 1 || !PLAIN.contains(&kind) {
        return Err(A::Error::custom("read the long way"));
    }
    Ok(Envelope { v, id, on, loop_id, seq, at, commit, by, epoch, kind })
}

fn named<'de, A: MapAccess<'de>, T: serde::Deserialize<'de>>(map: &mut A, name: &str) -> Result<T, A::Error> {
    let key: &str = map.next_key()?.unwrap_or_default();
    value_of(map, key, name)
}

fn value_of<'de, A: MapAccess<'de>, T: serde::Deserialize<'de>>(
    map: &mut A,
    key: &str,
    name: &str,
) -> Result<T, A::Error> {
    if key == name { map.next_value() } else { Err(A::Error::custom("not in our order")) }
}

/// The fields after the envelope; a field of the envelope among them is an error.
struct Fields<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.0.next_key::<&str>()? {
            None => Ok(None),
            Some(key) if ENVELOPE.contains(&key) => Err(A::Error::custom("the envelope goes on")),
            Some(key) => seed.deserialize(key.into_deserializer()).map(Some),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;
    use crate::domain::event::Line;

    fn known(line: Line) -> Option<Record> {
        if let Line::Known(record) = line { Some(*record) } else { None }
    }

    fn signal() -> Map<String, Value> {
        let oid = "1".repeat(40);
        let line = format!(
            r#"{{"v":1,"id":"0000aaaa","on":"{oid}","loop":"l1","seq":7,"at":"t","commit":"{oid}","by":"cli","epoch":2,"type":"signal_given","kind":"exit","dialect":"command","reason":"a \"type\" word","iteration":1,"head":"{oid}","code":"c"}}"#
        );
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_line_in_our_order_is_read_as_the_long_way_reads_it() {
        let line = Value::Object(signal()).to_string();
        let record = parse(&line).unwrap();
        assert_eq!(Some(record.clone()), known(Record::parse_in_any_order(&line)));
        assert_eq!(record.to_line(), line);
    }

    #[test]
    fn a_line_in_another_order_means_the_same() {
        let fields: Vec<(String, Value)> = signal().into_iter().collect();
        let expected = known(Record::parse(&Value::Object(signal()).to_string()));
        assert!(expected.is_some());
        for turn in 1..fields.len() {
            let mut turned = fields.clone();
            turned.rotate_left(turn);
            let line = Value::Object(turned.into_iter().collect()).to_string();
            assert!(parse(&line).is_none(), "{line}");
            assert_eq!(known(Record::parse(&line)), expected, "{line}");
        }
    }

    #[test]
    fn an_envelope_field_twice_or_words_after_the_end_are_no_event() {
        let line = Value::Object(signal()).to_string();
        for bad in [line.replace("\"code\":\"c\"", "\"code\":\"c\",\"epoch\":9"), format!("{line} x")] {
            assert!(parse(&bad).is_none());
            assert!(known(Record::parse(&bad)).is_none(), "{bad}");
        }
    }
}
